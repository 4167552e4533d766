// QLinearMatMul (10, 21): matrix product of quantized tensors.

#include <algorithm>
#include <optional>

#include "ops/nn/byte_product.h"
#include "ops/nn/float_view.h"
#include "ops/nn/integer_matmul.h"
#include "ops/ops.h"

namespace tessera::cpu {
namespace {

std::span<const float> ReadScales(KernelContext& context, const Tensor& tensor) {
  const auto values = context.scratch<float>(static_cast<size_t>(tensor.num_elements()));
  if (tensor.is(ElementType::kFloat16)) {
    ConvertToFloat(tensor.data<Float16>(), values.data(), tensor.num_elements());
  } else if (tensor.is(ElementType::kBFloat16)) {
    ConvertToFloat(tensor.data<BFloat16>(), values.data(), tensor.num_elements());
  } else {
    std::copy_n(tensor.data<float>(), tensor.num_elements(), values.data());
  }
  return values;
}

class QLinearMatMul final : public Kernel {
 public:
  explicit QLinearMatMul(const KernelInfo& info) {
    const bool plain = IsSingle(info, 1) && IsSingle(info, 2) && IsSingle(info, 6) && IsSingle(info, 7);
    if (plain) product_.emplace(info, 3, 5, false);
    if (!plain || !*product_) packed_.emplace(info, 3, 5);
  }

  void Compute(KernelContext& context) override {
    packed_ ? General(context) : Plain(context);
  }

 private:
  /// One scale and zero point for A and for Y.
  void Plain(KernelContext& context) const {
    const Tensor& a = context.required_input(0);
    const MatMulShape shape = InferMatMulShape(a.shape(), product_->shape());
    Tensor* output = context.output(0, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const auto a_scale = ReadScales(context, context.required_input(1)), y_scale = ReadScales(context, context.required_input(6));
    const auto b_scale = CheckPerLine(ReadScales(context, context.required_input(4)), shape.n, 1, "B's scale");
    const auto a_zero = ReadZeroPoints(context, context.input(2)), y_zero = ReadZeroPoints(context, context.input(7));
    Require(a_scale.size() == 1 && y_scale.size() == 1 && a_zero.size() == 1 && y_zero.size() == 1, "scales or zero points are not the scalars that they were declared to be");
    const auto scales = context.scratch<float>(b_scale.values.size());
    std::transform(b_scale.values.begin(), b_scale.values.end(), scales.begin(), [&](float b) { return a_scale[0] * b / y_scale[0]; });
    product_->Run(context, a, shape.batch.num_elements() * shape.m, a_zero[0],
                  {.kind = IsSigned(output->type()) ? Int8Store::kInt8 : Int8Store::kUInt8, .data = output->mutable_raw(), .scales = scales, .zero = y_zero[0]});
  }

  void General(KernelContext& context) const {
    const bool packed = packed_->data() != nullptr;
    const IntegerMatMulInputs inputs{&context.required_input(0), packed ? nullptr : &context.required_input(3), context.input(2),
                                     context.input(5), &*packed_};
    Tensor* output = nullptr;
    int32_t* sums = nullptr;
    const MatMulShape shape = IntegerMatMul(context, inputs, [&](const MatMulShape& s) -> int32_t* {
      output = context.output(0, s.output);
      if (output != nullptr) sums = context.scratch<int32_t>(static_cast<size_t>(output->num_elements())).data();
      return sums;
    });
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t batch = shape.batch.num_elements();
    const auto a_scale = CheckPerLine(ReadScales(context, context.required_input(1)), shape.m, batch, "A's scale");
    const auto b_scale = CheckPerLine(ReadScales(context, context.required_input(4)), shape.n, batch, "B's scale");
    const auto y_scale = CheckPerLine(ReadScales(context, context.required_input(6)), shape.m, batch, "Y's scale");
    const auto y_zero = CheckPerLine(ReadZeroPoints(context, context.input(7)), shape.m, batch, "Y's zero point");
    auto* out = static_cast<uint8_t*>(output->mutable_raw());
    const bool is_signed = IsSigned(output->type());
    const int64_t rows = batch * shape.m;
    const auto combine = [&](int64_t row, float* scales) {
      const int64_t matrix = row / shape.m;
      const int64_t line = row % shape.m;
      const float a = a_scale.of(matrix)[line * a_scale.step()];
      const float y = y_scale.of(matrix)[line * y_scale.step()];
      for (int64_t j = 0; j < (b_scale.step() == 0 ? 1 : shape.n); ++j) scales[j] = a * b_scale.of(matrix)[j] / y;
    };
    const auto finish = [&](int64_t row, const float* scales) {
      const int32_t zero = y_zero.of(row / shape.m)[row % shape.m * y_zero.step()];
      RequantizeRow(sums + row * shape.n, shape.n, scales, b_scale.step(), zero, is_signed, out + row * shape.n);
    };
    const bool same = a_scale.step() == 0 && y_scale.step() == 0 && b_scale.values.size() <= static_cast<size_t>(shape.n);
    const auto scales = context.scratch<float>(static_cast<size_t>(shape.n));
    if (same) {
      combine(0, scales.data());
      context.threads().ParallelFor(rows, static_cast<double>(shape.n) * 0.5, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) finish(row, scales.data());
      });
      return;
    }
    for (int64_t row = 0; row < rows; ++row) {
      combine(row, scales.data());
      finish(row, scales.data());
    }
  }

  std::optional<ByteProduct> product_;
  std::optional<PackedInt8Matrix> packed_;
};

}  // namespace

void RegisterQLinearMatMul(KernelRegistry& registry) {
  constexpr TypeSet kBytes = {ElementType::kInt8, ElementType::kUInt8};
  registry.Add(Op("QLinearMatMul").Types(0, kBytes).Types(3, kBytes).OutputTypes(0, kBytes).Make<QLinearMatMul>());
}

}  // namespace tessera::cpu
