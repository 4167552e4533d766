// BitCast (26): the same buffer under another type.

#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class BitCast final : public Kernel {
 public:
  explicit BitCast(const KernelInfo& info) : type_(info.output_type(0)) {
    Require(type_ != ElementType::kUndefined && BitWidth(info.input_type(0)) == BitWidth(type_) && BitWidth(type_) > 0,
            "BitCast from {} to {}: the element types must be of the same width", ElementTypeName(info.input_type(0)),
            ElementTypeName(type_));
  }
  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    context.set_output(0, Tensor::Share(type_, x.shape(), const_cast<void*>(x.raw()), x.owner(), x.memory()));
  }

 private:
  ElementType type_;
};

}  // namespace

void RegisterBitCast(KernelRegistry& registry) {
  // To bool it may change bytes, which the CPU provider does.
  constexpr TypeSet kAnyBits =
      kNumbers | kFloat8s | kPackedIntegers |
      TypeSet{ElementType::kComplex64, ElementType::kComplex128, ElementType::kFloat8E8M0, ElementType::kFloat4E2M1};
  registry.Add(Op("BitCast").Versions(26).OutputTypes(0, kAnyBits).Alias(0, 0).Make<BitCast>());
}

}  // namespace tessera::opencl
