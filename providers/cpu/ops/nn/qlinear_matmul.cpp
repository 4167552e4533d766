// QLinearMatMul (10, 21): GEMM of quantized tensors.

#include <algorithm>
#include <cmath>
#include <optional>

#include "cpu/engine/cast.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/integer_matmul.h"
#include "cpu/ops/nn/quantized_gemm.h"
#include "cpu/ops/ops.h"

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
    if (plain) gemm_.emplace(info, 3, 5, false);
    if (!plain || !*gemm_) packed_.emplace(info, 3, 5);
  }

  void Compute(KernelContext& context) override { packed_ ? General(context) : Plain(context); }

 private:
  /// One scale and zero point for A and for Y.
  void Plain(KernelContext& context) const {
    const Tensor& a = context.required_input(0);
    const MatMulShape shape = InferMatMulShape(a.shape(), gemm_->shape());
    Tensor* output = context.output(0, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const auto a_scale = ReadScales(context, context.required_input(1)),
               y_scale = ReadScales(context, context.required_input(6));
    const auto b_scale = CheckPerChannel(ReadScales(context, context.required_input(4)), shape.n, 1, "B's scale");
    const auto a_zero = ReadZeroPoints(context, context.input(2)), y_zero = ReadZeroPoints(context, context.input(7));
    Require(a_scale.size() == 1 && y_scale.size() == 1 && a_zero.size() == 1 && y_zero.size() == 1,
            "scales or zero points are not the scalars that they were declared to be");
    const auto scales = context.scratch<float>(b_scale.values.size());
    std::transform(b_scale.values.begin(), b_scale.values.end(), scales.begin(),
                   [&](float b) { return a_scale[0] * b / y_scale[0]; });
    gemm_->Run(context, a, shape.batch.num_elements() * shape.m, a_zero[0],
               {.kind = IsSigned(output->type()) ? OutputStage::kInt8 : OutputStage::kUInt8,
                .data = output->mutable_raw(),
                .scales = scales,
                .zero = y_zero[0]});
  }

  void General(KernelContext& context) const {
    const bool packed = packed_->data() != nullptr;
    const IntegerMatMulInputs inputs{&context.required_input(0), packed ? nullptr : &context.required_input(3),
                                     context.input(2), context.input(5), &*packed_};
    Tensor* output = nullptr;
    int32_t* accumulators = nullptr;
    const MatMulShape shape = IntegerMatMul(context, inputs, [&](const MatMulShape& s) -> int32_t* {
      output = context.output(0, s.output);
      if (output != nullptr) accumulators = context.scratch<int32_t>(static_cast<size_t>(output->num_elements())).data();
      return accumulators;
    });
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t batch = shape.batch.num_elements();
    const auto a_scale = CheckPerChannel(ReadScales(context, context.required_input(1)), shape.m, batch, "A's scale");
    const auto b_scale = CheckPerChannel(ReadScales(context, context.required_input(4)), shape.n, batch, "B's scale");
    const auto y_scale = CheckPerChannel(ReadScales(context, context.required_input(6)), shape.m, batch, "Y's scale");
    const auto y_zero = CheckPerChannel(ReadZeroPoints(context, context.input(7)), shape.m, batch, "Y's zero point");
    auto* out = static_cast<uint8_t*>(output->mutable_raw());
    const bool is_signed = IsSigned(output->type());
    const int64_t rows = batch * shape.m;
    const auto combine = [&](int64_t row, float* scales) {
      const int64_t matrix = row / shape.m;
      const int64_t channel = row % shape.m;
      const float a = a_scale.of(matrix)[channel * a_scale.step()];
      const float y = y_scale.of(matrix)[channel * y_scale.step()];
      for (int64_t j = 0; j < (b_scale.step() == 0 ? 1 : shape.n); ++j) scales[j] = a * b_scale.of(matrix)[j] / y;
    };
    const auto finish = [&](int64_t row, const float* scales) {
      const int32_t zero = y_zero.of(row / shape.m)[row % shape.m * y_zero.step()];
      RequantizeRow(accumulators + row * shape.n, shape.n, scales, b_scale.step(), zero, is_signed, out + row * shape.n);
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

  std::optional<QuantizedGemm> gemm_;
  std::optional<PackedInt8Matrix> packed_;
};

/// Some of the operands are 8-bit floats: GEMM of the values that they stand for.
class QLinearMatMulOfFloats final : public Kernel {
 public:
  explicit QLinearMatMulOfFloats(const KernelInfo& info) : y_type_(info.input_type(7)) {
    Require(info.has_input(7) && kQuantized.contains(y_type_), "input 7, y's zero point, is required");
  }

  void Compute(KernelContext& context) override {
    const Shape &a_shape = context.required_input(0).shape(), &b_shape = context.required_input(3).shape();
    const MatMulShape shape = InferMatMulShape(a_shape, b_shape);
    Tensor* output = context.output(0, y_type_, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const std::span<float> a = Dequantize(context, 0, {shape.m, shape.k}, true),
                           b = Dequantize(context, 3, {shape.k, shape.n}, false);
    const int64_t batch = shape.batch.num_elements();
    const auto of_a = OperandMatrices(context, a_shape, shape.batch, batch),
               of_b = OperandMatrices(context, b_shape, shape.batch, batch);
    const auto accumulators = context.scratch<float>(static_cast<size_t>(output->num_elements()));
    RunGemms<float>(context, batch, [&](int64_t i) {
      GemmProblem<float> args;
      args.m = shape.m;
      args.n = shape.n;
      args.k = shape.k;
      args.lhs = {.data = a.data() + of_a[i] * shape.m * shape.k, .row = shape.k};
      args.rhs = {.data = b.data() + of_b[i] * shape.k * shape.n, .k = shape.n};
      args.out = {.data = accumulators.data() + i * shape.m * shape.n, .row = shape.n};
      return args;
    });
    Quantize(context, shape, accumulators, *output);
  }

  static constexpr TypeSet kQuantized = kBytes | TypeSet{ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ,
                                                         ElementType::kFloat8E5M2, ElementType::kFloat8E5M2FNUZ};

 private:
  struct Matrix {
    int64_t rows, columns;
  };

  static std::span<const float> ReadZeros(KernelContext& context, const Tensor* zeros) {
    const auto values = context.scratch<float>(static_cast<size_t>(zeros == nullptr ? 1 : zeros->num_elements()));
    if (zeros == nullptr) {
      values[0] = 0;
    } else {
      ElementCast(zeros->type(), ElementType::kFloat).Run(zeros->raw(), 0, values.data(), 0, zeros->num_elements());
    }
    return values;
  }

  /// (value - zero) * scale, of inputs `quantized` and the two after it; for each row or each column, or for all.
  static std::span<float> Dequantize(KernelContext& context, size_t input, Matrix matrix, bool by_row) {
    const Tensor& quantized = context.required_input(input);
    const int64_t rows = quantized.num_elements() / std::max<int64_t>(matrix.columns, 1),
                  channels = by_row ? matrix.rows : matrix.columns;
    const int64_t matrices = rows / std::max<int64_t>(matrix.rows, 1);
    const auto scale = CheckPerChannel(ReadScales(context, context.required_input(input + 1)), channels, matrices,
                                       by_row ? "A's scale" : "B's scale");
    const auto zero = CheckPerChannel(ReadZeros(context, context.input(input + 2)), channels, matrices,
                                      by_row ? "A's zero point" : "B's zero point");
    const auto values = context.scratch<float>(static_cast<size_t>(quantized.num_elements()));
    const ElementCast cast(quantized.type(), ElementType::kFloat);
    context.threads().ParallelFor(rows, static_cast<double>(matrix.columns) * 2, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float* to = values.data() + row * matrix.columns;
        cast.Run(quantized.raw(), row * matrix.columns, to, 0, matrix.columns);
        const float *scales = scale.of(row / matrix.rows), *zeros = zero.of(row / matrix.rows);
        for (int64_t j = 0; j < matrix.columns; ++j) {
          const int64_t channel = by_row ? row % matrix.rows : j;
          to[j] = (to[j] - zeros[channel * zero.step()]) * scales[channel * scale.step()];
        }
      }
    });
    return values;
  }

  /// As QuantizeLinear does, for each row or for all.
  void Quantize(KernelContext& context, const MatMulShape& shape, std::span<float> accumulators, Tensor& output) const {
    const int64_t batch = shape.batch.num_elements();
    const auto scale = CheckPerChannel(ReadScales(context, context.required_input(6)), shape.m, batch, "Y's scale");
    const auto zero = CheckPerChannel(ReadZeros(context, context.input(7)), shape.m, batch, "Y's zero point");
    const bool whole = kBytes.contains(y_type_);
    const float low = y_type_ == ElementType::kInt8 ? -128.0f : 0.0f,
                high = y_type_ == ElementType::kInt8 ? 127.0f : 255.0f;
    const ElementCast cast(ElementType::kFloat, y_type_);
    context.threads().ParallelFor(batch * shape.m, static_cast<double>(shape.n) * 3, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float* values = accumulators.data() + row * shape.n;
        const int64_t channel = row % shape.m;
        const float divisor = scale.of(row / shape.m)[channel * scale.step()],
                    offset = zero.of(row / shape.m)[channel * zero.step()];
        for (int64_t j = 0; j < shape.n; ++j) {
          values[j] =
              whole ? std::clamp(std::nearbyint(values[j] / divisor) + offset, low, high) : values[j] / divisor + offset;
        }
        cast.Run(values, 0, output.mutable_raw(), row * shape.n, shape.n);
      }
    });
  }

  ElementType y_type_;
};

std::unique_ptr<Kernel> MakeQLinearMatMul(const KernelInfo& info) {
  const bool bytes =
      kBytes.contains(info.input_type(0)) && kBytes.contains(info.input_type(3)) && kBytes.contains(info.output_type(0));
  if (bytes) return std::make_unique<QLinearMatMul>(info);
  return std::make_unique<QLinearMatMulOfFloats>(info);
}

}  // namespace

void RegisterQLinearMatMul(KernelRegistry& registry) {
  constexpr TypeSet kQuantized = QLinearMatMulOfFloats::kQuantized;
  registry.Add(
      Op("QLinearMatMul").Types(0, kQuantized).Types(3, kQuantized).OutputTypes(0, kQuantized).Factory(MakeQLinearMatMul));
}

}  // namespace tessera::cpu
