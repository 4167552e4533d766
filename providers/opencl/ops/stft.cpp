// STFT (17).

#include <optional>
#include <string>

#include "opencl/claims/refusals.h"
#include "opencl/ops/fourier_transform.h"
#include "ops/signal/dft.h"

namespace tessera::opencl {
namespace {

class Stft final : public Kernel {
 public:
  explicit Stft(const KernelInfo& info) : transform_(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor* window = context.input(2);
    const int64_t step = FourierTransform::Number(context, 1, 0);
    const std::optional<int64_t> frame_length =
        context.input(3) == nullptr ? std::nullopt : std::optional(FourierTransform::Number(context, 3, 0));
    const StftAttributes::Sizes sizes = attributes_.Fit(x, step, window, frame_length);
    const cl_int length = FourierTransform::Length(sizes.length, "frame_length");
    const Signals signals{.period = sizes.frames,
                          .outer = sizes.points * sizes.components,
                          .hop = sizes.frames > 1 ? step * sizes.components : 0,
                          .step = sizes.components,
                          .inner = 1,
                          .points = length,
                          .length = length,
                          .bins = static_cast<cl_int>(sizes.bins),
                          .components = static_cast<cl_int>(sizes.components)};
    transform_(context, x, window, *context.output(0, sizes.result()), signals);
  }

 private:
  FourierTransform transform_;
  StftAttributes attributes_;
};

std::string StftRefusal(const NodeInfo& info) {
  if (info.has_input(3)) return LengthRefusal(ConstantInteger(info, 3));
  return LengthRefusal(info.has_input(2) ? KnownSize(info.input_info(2)) : KnownDimension(info.input_info(0), 1));
}

}  // namespace

void RegisterStft(KernelRegistry& registry) {
  registry.Add(Op("STFT").Versions(17).Types(0, kReals).HostInput(1).HostInput(3).Unless(StftRefusal).Make<Stft>());
}

}  // namespace tessera::opencl
