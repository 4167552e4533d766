// DFT (17, 20), not inverse.

#include <algorithm>
#include <optional>
#include <string>

#include "opencl/ops/fourier_transform.h"
#include "ops/signal/dft.h"

namespace tessera::opencl {
namespace {

class Dft final : public Kernel {
 public:
  explicit Dft(const KernelInfo& info) : transform_(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const int64_t axis =
        attributes_.axis_is_input ? FourierTransform::Number(context, 2, attributes_.axis) : attributes_.axis;
    const size_t a = DftAttributes::SignalAxis(shape, axis);
    const cl_int length = FourierTransform::Length(FourierTransform::Number(context, 1, shape[a]), "dft_length");
    const int64_t inner = shape.SizeOfRange(a + 1, shape.rank() - 1), components = shape.back();
    const Signals signals{.period = inner,
                          .outer = shape[a] * inner * components,
                          .hop = components,
                          .step = inner * components,
                          .inner = inner,
                          .points = static_cast<cl_int>(std::min<int64_t>(shape[a], length)),
                          .length = length,
                          .bins = attributes_.onesided ? length / 2 + 1 : length,
                          .components = static_cast<cl_int>(components)};
    Shape result = shape;
    result[a] = signals.bins;
    result[shape.rank() - 1] = 2;
    transform_(context, x, nullptr, *context.output(0, result), signals);
  }

 private:
  FourierTransform transform_;
  DftAttributes attributes_;
};

std::string DftRefusal(const NodeInfo& info) {
  const DftAttributes attributes(info.node());
  if (attributes.inverse) return "inverse transforms are left to the CPU provider";
  if (info.has_input(1)) return LengthRefusal(ConstantInteger(info, 1));
  const bool given = attributes.axis_is_input && info.has_input(2);
  const auto axis = given ? ConstantInteger(info, 2) : std::optional(attributes.axis);
  return LengthRefusal(axis ? KnownDimension(info.input_info(0), *axis) : std::nullopt);
}

}  // namespace

void RegisterDft(KernelRegistry& registry) {
  registry.Add(Op("DFT").Versions(17).Types(0, kReals).HostInput(1).HostInput(2).Unless(DftRefusal).Make<Dft>());
}

}  // namespace tessera::opencl
