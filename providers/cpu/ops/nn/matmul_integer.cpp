// MatMulInteger (10): GEMM of 8-bit integers, accumulators in int32.

#include <optional>

#include "cpu/ops/nn/integer_matmul.h"
#include "cpu/ops/nn/quantized_gemm.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class MatMulInteger final : public Kernel {
 public:
  explicit MatMulInteger(const KernelInfo& info) {
    const bool plain = IsSingle(info, 2);
    if (plain) gemm_.emplace(info, 1, 3, false);
    if (!plain || !*gemm_) packed_.emplace(info, 1, 3);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const auto destination = [&](const MatMulShape& shape) -> int32_t* {
      Tensor* output = context.output(0, shape.output);
      return output == nullptr ? nullptr : output->mutable_data<int32_t>();
    };
    if (packed_) {
      const bool packed = packed_->data() != nullptr;
      const IntegerMatMulInputs inputs{&a, packed ? nullptr : &context.required_input(1), context.input(2),
                                       context.input(3), &*packed_};
      IntegerMatMul(context, inputs, destination);
      return;
    }
    const MatMulShape shape = InferMatMulShape(a.shape(), gemm_->shape());
    const int64_t rows = shape.batch.num_elements() * shape.m;
    const auto a_zero = ReadZeroPoints(context, context.input(2));
    Require(a_zero.size() == 1, "A's zero point is not the scalar that it was declared to be");
    int32_t* out = destination(shape);
    if (out != nullptr && rows * shape.n > 0)
      gemm_->Run(context, a, rows, a_zero[0], {.kind = OutputStage::kAccumulators, .data = out, .scales = {}});
  }

 private:
  std::optional<QuantizedGemm> gemm_;
  std::optional<PackedInt8Matrix> packed_;
};

}  // namespace

void RegisterMatMulInteger(KernelRegistry& registry) { registry.Add(Op("MatMulInteger").Make<MatMulInteger>()); }

}  // namespace tessera::cpu
