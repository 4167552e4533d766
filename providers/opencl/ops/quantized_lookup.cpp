// The optimizer's QuantizedLookup.

#include "graph/private_names.h"
#include "opencl/gemm/quantized_operands.h"

namespace tessera::opencl {
namespace {

/// Bytes looked up by the bytes of a tensor: a Gather from a table of 256 that needs no check.
class QuantizedLookup final : public Kernel {
 public:
  explicit QuantizedLookup(const KernelInfo& info)
      : kernel_(DeviceOf(info), "gather", Moved('X', ElementType::kUInt8) + Computed('I', ElementType::kUInt8), "gather") {}

  void Compute(KernelContext& context) override {
    const Tensor& quantized = context.required_input(0);
    const Tensor& table = context.required_input(1);
    Require(table.num_elements() == 256, "the table has {} values, 256 are expected", table.num_elements());
    const Tensor& y = *context.output(0, quantized.shape());
    kernel_.Linear(context, quantized.num_elements(), table, quantized, y, cl_long{256}, cl_long{quantized.num_elements()},
                   cl_long{1});
  }

 private:
  Launchable kernel_;
};

}  // namespace

void RegisterQuantizedLookup(KernelRegistry& registry) {
  registry.Add(Op("QuantizedLookup", kTesseraDomain)
                   .Types(0, kInt8s)
                   .Types(1, {ElementType::kUInt8})
                   .OutputTypes(0, kInt8s)
                   .Make<QuantizedLookup>());
}

}  // namespace tessera::opencl
