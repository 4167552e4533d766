// QGemm, com.microsoft, version 1: Gemm of 8-bit matrices, to floats or to quantized values.

#include <optional>

#include "base/cancellable_memory.h"
#include "cpu/ops/microsoft/integer_gemm_output.h"
#include "cpu/ops/nn/image_rows.h"
#include "cpu/ops/nn/integer_matmul.h"
#include "cpu/ops/nn/quantized_gemm.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/math/gemm.h"

namespace tessera::cpu {
namespace {

/// C as int32 for each row and column; its last axis goes with the columns.
struct IntegerBias {
  const int32_t* values = nullptr;
  int64_t row_step = 0;
};

class QGemm final : public Kernel {
 public:
  explicit QGemm(const KernelInfo& info) : attributes_(info.node()) {
    if (IsSingle(info, 2) && BiasIsRow(info)) gemm_.emplace(info, 3, 5, attributes_.trans_b);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    Require(a.shape().rank() == 2, "A is {}, a matrix is expected", a.shape());
    const bool packed = gemm_ && *gemm_;
    const Tensor left = attributes_.trans_a ? Transposed(context, a) : a;
    const Tensor right = packed                ? Tensor()
                         : attributes_.trans_b ? Transposed(context, context.required_input(3))
                                               : context.required_input(3);
    const MatMulShape shape = InferMatMulShape(left.shape(), packed ? gemm_->shape() : right.shape());
    Require(shape.output.rank() == 2, "B is {}, a matrix is expected", right.shape());
    Tensor* output = context.output(0, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const bool real = output->is(ElementType::kFloat);
    const float scale = SingleScale(context.required_input(1), "a_scale") * attributes_.alpha /
                        (real ? 1.0f : SingleScale(context.required_input(7), "y_scale"));
    const auto y_zero = ReadZeroPoints(context, real ? nullptr : context.input(8));
    const IntegerBias bias = Bias(context, shape);
    QuantizedGemmOutput out{.kind = real                       ? OutputStage::kFloat
                                    : IsSigned(output->type()) ? OutputStage::kInt8
                                                               : OutputStage::kUInt8,
                            .data = output->mutable_raw(),
                            .scales = ScaledBy(context, scale, GemmScales(context.required_input(4), shape.n, "b_scale")),
                            .bias = bias.values,
                            .zero = y_zero[0]};
    if (packed) {
      const auto a_zero = ReadZeroPoints(context, context.input(2));
      Require(a_zero.size() == 1 && bias.row_step == 0, "a zero point or C is not of the shape that it was declared to be");
      gemm_->Run(context, left, shape.m, a_zero[0], out);
      return;
    }
    const auto accumulators = context.scratch<int32_t>(static_cast<size_t>(output->num_elements()));
    IntegerMatMul(context, {&left, &right, context.input(2), context.input(5), nullptr},
                  [&](const MatMulShape&) { return accumulators.data(); });
    if (bias.values != nullptr) AddBias(context, bias, shape, accumulators.data());
    StoreGemm(context, accumulators.data(), shape.m, shape.n, out);
  }

 private:
  /// C is known to be one row, or missing.
  bool BiasIsRow(const KernelInfo& info) const {
    if (!info.has_input(6)) return true;
    const TypeInfo& type = info.input_info(6);
    const auto shape = type.is_tensor() && type.shape ? ToShape(*type.shape) : std::nullopt;
    return shape && (shape->rank() < 2 || (shape->rank() == 2 && (*shape)[0] == 1));
  }

  static Tensor Transposed(KernelContext& context, const Tensor& matrix) {
    Require(matrix.shape().rank() == 2, "an operand is {}, a matrix is expected", matrix.shape());
    const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
    const auto bytes = context.scratch<uint8_t>(static_cast<size_t>(matrix.num_elements()));
    TransposePlanes(context.threads(), 1, rows, columns, static_cast<const uint8_t*>(matrix.raw()), bytes.data());
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
    for (int64_t i = 0; i < rows; ++i) FillCancellably(spread.data() + i * shape.n, shape.n, c->data<int32_t>()[i]);
    return {spread.data(), rows == 1 ? 0 : shape.n};
  }

  static void AddBias(KernelContext& context, const IntegerBias& bias, const MatMulShape& shape, int32_t* accumulators) {
    constexpr double kElementNs = 0.3;
    context.threads().ParallelFor(shape.m, kElementNs * static_cast<double>(shape.n), [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        const int32_t* row = bias.values + m * bias.row_step;
        int32_t* to = accumulators + m * shape.n;
        for (int64_t j = 0; j < shape.n; ++j) {
          to[j] = static_cast<int32_t>(static_cast<uint32_t>(to[j]) + static_cast<uint32_t>(row[j]));
        }
      }
    });
  }

  GemmAttributes attributes_;
  std::optional<QuantizedGemm> gemm_;
};

}  // namespace

void RegisterQGemm(KernelRegistry& registry) {
  registry.Add(Op("QGemm", "com.microsoft").Types(0, kBytes).Types(3, kBytes).Make<QGemm>());
}

}  // namespace tessera::cpu
