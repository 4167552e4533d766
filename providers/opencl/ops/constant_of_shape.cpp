// ConstantOfShape (9-25).

#include <cstring>

#include "opencl/device/kernel.h"
#include "ops/movement/constant_of_shape.h"

namespace tessera::opencl {
namespace {

class ConstantOfShape final : public Kernel {
 public:
  explicit ConstantOfShape(const KernelInfo& info)
      : kernel_(DeviceOf(info), "fill", Moved('X', info.output_type(0)), "fill") {
    const Tensor value = ConstantOfShapeAttributes(info.node()).value;
    Require(value.byte_size() <= sizeof bits_, "the value has {} bytes, at most {} are expected", value.byte_size(),
            sizeof bits_);
    std::memcpy(&bits_, value.raw(), value.byte_size());
  }

  void Compute(KernelContext& context) override {
    Tensor& y = *context.output(0, ConstantOfShapeAttributes::ResultShape(context.required_input(0)));
    kernel_.Linear(context, y.num_elements(), y, bits_);
  }

 private:
  Launchable kernel_;
  cl_ulong bits_ = 0;
};

}  // namespace

void RegisterConstantOfShape(KernelRegistry& registry) {
  registry.Add(Op("ConstantOfShape").Versions(9).OutputTypes(0, kMovable).HostInput(0).Make<ConstantOfShape>());
}

}  // namespace tessera::opencl
