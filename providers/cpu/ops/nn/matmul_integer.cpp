// MatMulInteger (10): matrix product of 8-bit integers, sums in int32.

#include "ops/nn/integer_matmul.h"
#include "ops/ops.h"

namespace tessera::cpu {
namespace {

class MatMulInteger final : public Kernel {
 public:
  explicit MatMulInteger(const KernelInfo& info) : packed_(info, 1, 3) {}

  void Compute(KernelContext& context) override {
    const bool packed = packed_.data() != nullptr;
    const IntegerMatMulInputs inputs{&context.required_input(0), packed ? nullptr : &context.required_input(1), context.input(2),
                                     context.input(3), &packed_};
    IntegerMatMul(context, inputs, [&](const MatMulShape& shape) -> int32_t* {
      Tensor* output = context.output(0, shape.output);
      return output == nullptr ? nullptr : output->mutable_data<int32_t>();
    });
  }

 private:
  PackedInt8Matrix packed_;
};

}  // namespace

void RegisterMatMulInteger(KernelRegistry& registry) {
  registry.Add(Op("MatMulInteger").Make<MatMulInteger>());
}

}  // namespace tessera::cpu
