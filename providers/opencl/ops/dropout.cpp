// Dropout (7, 10, 12, 13, 22) of inference: its input, and a mask that is true everywhere.

#include "ops/random/dropout.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class Dropout final : public Kernel {
 public:
  explicit Dropout(const KernelInfo& info) {
    if (!info.has_output(1)) return;
    const ElementType type = info.output_type(1);
    if (type == ElementType::kDouble) one_ = 0x3ff0000000000000;
    if (type == ElementType::kFloat) one_ = 0x3f800000;
    if (type == ElementType::kFloat16) one_ = 0x3c00;
    if (type == ElementType::kBFloat16) one_ = 0x3f80;
    mask_.emplace(DeviceOf(info), "fill", Moved('X', type), "fill");
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    context.set_output(0, x);
    if (!mask_) return;
    const Tensor& mask = *context.output(1, x.shape());
    mask_->Linear(context, mask.num_elements(), mask, one_);
  }

 private:
  std::optional<Launchable> mask_;
  cl_ulong one_ = 1;  // of the mask's type: bool, before version 10 that of the input
};

std::string TrainingRefusal(const NodeInfo& info) {
  return DropoutMayTrain(info.node(), info.constant_input(2)) ? "training is left to the CPU provider" : "";
}

}  // namespace

void RegisterDropout(KernelRegistry& registry) {
  registry.Add(Op("Dropout")
                   .Versions(7)
                   .Types(0, kReals)
                   .HostInput(1)
                   .HostInput(2)
                   .Alias(0, 0)
                   .Unless(TrainingRefusal)
                   .Make<Dropout>());
}

}  // namespace tessera::opencl
