// MatMulIntegerToFloat and QGemm, com.microsoft, version 1: products of 8-bit matrices as floats or codes.

#include <algorithm>
#include <optional>

#include "cpu/ops/nn/integer_matmul.h"
#include "cpu/ops/nn/quantized_gemm.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/gemm/gemm_int8.h"

namespace tessera::cpu {
namespace {

std::span<const float> Scales(const Tensor& tensor, int64_t columns, std::string_view name) {
  Require(tensor.num_elements() == 1 || tensor.num_elements() == columns, "{} has {} values; 1 or {} are expected", name,
          tensor.num_elements(), columns);
  return {tensor.data<float>(), static_cast<size_t>(tensor.num_elements())};
}

float Single(const Tensor& tensor, std::string_view name) {
  Require(tensor.num_elements() == 1, "{} has {} values, 1 is expected", name, tensor.num_elements());
  return tensor.data<float>()[0];
}

/// Of A's scale, B's scales and a factor.
std::span<const float> Combined(KernelContext& context, float a, std::span<const float> b) {
  const auto scales = context.scratch<float>(b.size());
  std::transform(b.begin(), b.end(), scales.begin(), [a](float scale) { return a * scale; });
  return scales;
}

/// Rows of sums, bias included, to what `out` asks for.
void Finish(KernelContext& context, const int32_t* sums, int64_t rows, int64_t n, const QuantizedGemmOutput& out) {
  context.threads().ParallelFor(rows, static_cast<double>(n) * 0.5, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      const int32_t* row = sums + m * n;
      if (out.kind != OutputStage::kFloat) {
        RequantizeRow(row, n, out.scales.data(), out.scales.size() == 1 ? 0 : 1, out.zero, out.kind == OutputStage::kInt8,
                      static_cast<uint8_t*>(out.data) + m * n);
        continue;
      }
      float* to = static_cast<float*>(out.data) + m * n;
      for (int64_t j = 0; j < n; ++j) {
        to[j] = static_cast<float>(row[j]) * out.scales[out.scales.size() == 1 ? 0 : static_cast<size_t>(j)] +
                (out.shift == nullptr ? 0.0f : out.shift[j]);
      }
    }
  });
}

class MatMulIntegerToFloat final : public Kernel {
 public:
  explicit MatMulIntegerToFloat(const KernelInfo& info) {
    const bool plain = IsSingle(info, 4);
    if (plain) product_.emplace(info, 1, 5, false);
    if (!plain || !*product_) packed_.emplace(info, 1, 5);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const bool packed = packed_ && packed_->data() != nullptr;
    const Shape& b = !packed_ ? product_->shape() : packed ? packed_->shape() : context.required_input(1).shape();
    const MatMulShape shape = InferMatMulShape(a.shape(), b);
    Tensor* output = context.output(0, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const Tensor* shift = context.input(6);
    Require(shift == nullptr || shift->num_elements() == shape.n, "bias has {} values, {} are expected",
            shift == nullptr ? 0 : shift->num_elements(), shape.n);
    const QuantizedGemmOutput out{.kind = OutputStage::kFloat,
                                  .data = output->mutable_raw(),
                                  .scales = Combined(context, Single(context.required_input(2), "a_scale"),
                                                     Scales(context.required_input(3), shape.n, "b_scale")),
                                  .shift = shift == nullptr ? nullptr : shift->data<float>()};
    const int64_t rows = shape.batch.num_elements() * shape.m;
    if (!packed_) {
      const auto zero = ReadZeroPoints(context, context.input(4));
      Require(zero.size() == 1, "a_zero_point has {} values, 1 is expected", zero.size());
      product_->Run(context, a, rows, zero[0], out);
      return;
    }
    const auto sums = context.scratch<int32_t>(static_cast<size_t>(output->num_elements()));
    IntegerMatMul(context,
                  {&a, packed ? nullptr : &context.required_input(1), context.input(4), context.input(5), &*packed_},
                  [&](const MatMulShape&) { return sums.data(); });
    Finish(context, sums.data(), rows, shape.n, out);
  }

 private:
  std::optional<QuantizedGemm> product_;
  std::optional<PackedInt8Matrix> packed_;
};

/// C as int32 for each row and column; its last axis goes with the columns.
struct IntegerBias {
  const int32_t* values = nullptr;
  int64_t row_step = 0;
};

class QGemm final : public Kernel {
 public:
  explicit QGemm(const KernelInfo& info)
      : turns_a_(info.attribute<int64_t>("transA", 0) != 0),
        turns_b_(info.attribute<int64_t>("transB", 0) != 0),
        alpha_(info.attribute<float>("alpha", 1.0f)) {
    if (IsSingle(info, 2) && BiasIsRow(info)) product_.emplace(info, 3, 5, turns_b_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    Require(a.shape().rank() == 2, "A is {}, a matrix is expected", a.shape());
    const bool packed = product_ && *product_;
    const Tensor left = turns_a_ ? Turned(context, a) : a;
    const Tensor right = packed     ? Tensor()
                         : turns_b_ ? Turned(context, context.required_input(3))
                                    : context.required_input(3);
    const MatMulShape shape = InferMatMulShape(left.shape(), packed ? product_->shape() : right.shape());
    Require(shape.output.rank() == 2, "B is {}, a matrix is expected", right.shape());
    Tensor* output = context.output(0, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const bool real = output->is(ElementType::kFloat);
    const float scale = Single(context.required_input(1), "a_scale") * alpha_ /
                        (real ? 1.0f : Single(context.required_input(7), "y_scale"));
    const auto y_zero = ReadZeroPoints(context, real ? nullptr : context.input(8));
    const IntegerBias bias = Bias(context, shape);
    QuantizedGemmOutput out{.kind = real                       ? OutputStage::kFloat
                                    : IsSigned(output->type()) ? OutputStage::kInt8
                                                               : OutputStage::kUInt8,
                            .data = output->mutable_raw(),
                            .scales = Combined(context, scale, Scales(context.required_input(4), shape.n, "b_scale")),
                            .bias = bias.values,
                            .zero = y_zero[0]};
    if (packed) {
      const auto a_zero = ReadZeroPoints(context, context.input(2));
      Require(a_zero.size() == 1 && bias.row_step == 0, "a zero point or C is not of the shape that it was declared to be");
      product_->Run(context, left, shape.m, a_zero[0], out);
      return;
    }
    const auto sums = context.scratch<int32_t>(static_cast<size_t>(output->num_elements()));
    IntegerMatMul(context, {&left, &right, context.input(2), context.input(5), nullptr},
                  [&](const MatMulShape&) { return sums.data(); });
    for (int64_t m = 0; m < shape.m && bias.values != nullptr; ++m) {
      const int32_t* row = bias.values + m * bias.row_step;
      for (int64_t j = 0; j < shape.n; ++j) {
        int32_t& sum = sums[m * shape.n + j];
        sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(row[j]));
      }
    }
    Finish(context, sums.data(), shape.m, shape.n, out);
  }

 private:
  /// C is known to be one row, or missing.
  bool BiasIsRow(const KernelInfo& info) const {
    if (!info.has_input(6)) return true;
    const TypeInfo& type = info.input_info(6);
    const auto shape = type.is_tensor() && type.shape ? ToShape(*type.shape) : std::nullopt;
    return shape && (shape->rank() < 2 || (shape->rank() == 2 && (*shape)[0] == 1));
  }

  static Tensor Turned(KernelContext& context, const Tensor& matrix) {
    Require(matrix.shape().rank() == 2, "an operand is {}, a matrix is expected", matrix.shape());
    const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
    const auto bytes = context.scratch<uint8_t>(static_cast<size_t>(matrix.num_elements()));
    const auto* from = static_cast<const uint8_t*>(matrix.raw());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) bytes[j * rows + i] = from[i * columns + j];
    }
    return Tensor::View(matrix.type(), Shape{columns, rows}, bytes.data());
  }

  static IntegerBias Bias(KernelContext& context, const MatMulShape& shape) {
    const Tensor* c = context.input(6);
    if (c == nullptr) return {};
    const size_t rank = c->shape().rank();
    const int64_t columns = rank == 0 ? 1 : c->shape().back(), rows = rank < 2 ? 1 : c->shape()[rank - 2];
    Require(rank <= 2 && (columns == 1 || columns == shape.n) && (rows == 1 || rows == shape.m),
            "C is {}, which does not broadcast to {}", c->shape(), shape.output);
    if (columns == shape.n) return {c->data<int32_t>(), rows == 1 ? 0 : shape.n};
    const auto spread = context.scratch<int32_t>(static_cast<size_t>(CheckedMul(rows, shape.n)));
    for (int64_t i = 0; i < rows; ++i) std::fill_n(spread.begin() + i * shape.n, shape.n, c->data<int32_t>()[i]);
    return {spread.data(), rows == 1 ? 0 : shape.n};
  }

  bool turns_a_, turns_b_;
  float alpha_;
  std::optional<QuantizedGemm> product_;
};

}  // namespace

void RegisterMatMulIntegerToFloat(KernelRegistry& registry) {
  registry.Add(Op("MatMulIntegerToFloat", "com.microsoft")
                   .Types(0, kBytes)
                   .Types(1, kBytes)
                   .Types(2, {ElementType::kFloat})
                   .Make<MatMulIntegerToFloat>());
}
void RegisterQGemm(KernelRegistry& registry) {
  registry.Add(Op("QGemm", "com.microsoft").Types(0, kBytes).Types(3, kBytes).Make<QGemm>());
}

}  // namespace tessera::cpu
