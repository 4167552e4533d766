// MatMulIntegerToFloat, com.microsoft, version 1: the matmul of 8-bit matrices as floats.

#include <optional>

#include "cpu/ops/microsoft/integer_gemm_output.h"
#include "cpu/ops/nn/integer_matmul.h"
#include "cpu/ops/nn/quantized_gemm.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

class MatMulIntegerToFloat final : public Kernel {
 public:
  explicit MatMulIntegerToFloat(const KernelInfo& info) {
    const bool plain = IsSingle(info, 4);
    if (plain) gemm_.emplace(info, 1, 5, false);
    if (!plain || !*gemm_) packed_.emplace(info, 1, 5);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const bool packed = packed_ && packed_->data() != nullptr;
    const Shape& b = !packed_ ? gemm_->shape() : packed ? packed_->shape() : context.required_input(1).shape();
    const MatMulShape shape = InferMatMulShape(a.shape(), b);
    Tensor* output = context.output(0, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const Tensor* shift = context.input(6);
    Require(shift == nullptr || shift->num_elements() == shape.n, "bias has {} values, {} are expected",
            shift == nullptr ? 0 : shift->num_elements(), shape.n);
    const QuantizedGemmOutput out{.kind = OutputStage::kFloat,
                                  .data = output->mutable_raw(),
                                  .scales = ScaledBy(context, SingleScale(context.required_input(2), "a_scale"),
                                                     GemmScales(context.required_input(3), shape.n, "b_scale")),
                                  .shift = shift == nullptr ? nullptr : shift->data<float>()};
    const int64_t rows = shape.batch.num_elements() * shape.m;
    if (!packed_) {
      const auto zero = ReadZeroPoints(context, context.input(4));
      Require(zero.size() == 1, "a_zero_point has {} values, 1 is expected", zero.size());
      gemm_->Run(context, a, rows, zero[0], out);
      return;
    }
    const auto accumulators = context.scratch<int32_t>(static_cast<size_t>(output->num_elements()));
    IntegerMatMul(context,
                  {&a, packed ? nullptr : &context.required_input(1), context.input(4), context.input(5), &*packed_},
                  [&](const MatMulShape&) { return accumulators.data(); });
    StoreGemm(context, accumulators.data(), rows, shape.n, out);
  }

 private:
  std::optional<QuantizedGemm> gemm_;
  std::optional<PackedInt8Matrix> packed_;
};

}  // namespace

void RegisterMatMulIntegerToFloat(KernelRegistry& registry) {
  registry.Add(Op("MatMulIntegerToFloat", "com.microsoft")
                   .Types(0, kBytes)
                   .Types(1, kBytes)
                   .Types(2, {ElementType::kFloat})
                   .Make<MatMulIntegerToFloat>());
}

}  // namespace tessera::cpu
