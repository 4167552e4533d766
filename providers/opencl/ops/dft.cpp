// DFT (17, 20; not inverse), STFT (17), of lengths that the graph states and that are not large: ClaimNodes leaves others
// to the CPU provider.

#include <limits>
#include <optional>

#include "opencl/claims/refusals.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"
#include "ops/signal/dft.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in dft.cl.
struct Signals {
  cl_long period, outer, hop, step, inner;
  cl_int points, length, bins, components;
};

cl_int Counted(int64_t size, const char* what) {
  Require(size >= 1 && size <= std::numeric_limits<cl_int>::max() / 2, "{} is {}", what, size);
  return static_cast<cl_int>(size);
}

class Transform {
 public:
  explicit Transform(const KernelInfo& info)
      : rotations_(DeviceOf(info), "dft", Computed('X', info.input_type(0)), "rotations"),
        transform_(DeviceOf(info), "dft", Computed('X', info.input_type(0)), "transform"),
        bytes_(info.input_type(0) == ElementType::kDouble ? sizeof(cl_double) : sizeof(cl_float)) {}

  /// For each bin of each signal in `y`, whose two components stand last.
  void operator()(KernelContext& context, const Tensor& x, const Tensor* window, const Tensor& y, const Signals& signals) {
    if (y.num_elements() == 0) return;
    const DeviceScratch table(context, static_cast<size_t>(signals.length) * 2 * bytes_);
    rotations_.Linear(context, signals.length, table.range());
    transform_.Linear(context, y.num_elements() / 2, x, window, table.range(), y, signals);
  }

  /// A scalar input that may be absent.
  static int64_t Number(KernelContext& context, size_t i, int64_t fallback) {
    const Tensor* tensor = context.input(i);
    if (tensor == nullptr) return fallback;
    Require(tensor->num_elements() == 1, "input {} is {}, a scalar is expected", i, tensor->shape());
    return HostIntegers(tensor->Reshaped(Shape{1}))[0];
  }

 private:
  Launchable rotations_, transform_;
  size_t bytes_;
};

class Dft final : public Kernel {
 public:
  explicit Dft(const KernelInfo& info) : transform_(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const int64_t axis = attributes_.axis_is_input ? Transform::Number(context, 2, attributes_.axis) : attributes_.axis;
    const size_t a = DftAttributes::SignalAxis(shape, axis);
    const cl_int length = Counted(Transform::Number(context, 1, shape[a]), "dft_length");
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
  Transform transform_;
  DftAttributes attributes_;
};

class Stft final : public Kernel {
 public:
  explicit Stft(const KernelInfo& info) : transform_(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor* window = context.input(2);
    const int64_t step = Transform::Number(context, 1, 0);
    const std::optional<int64_t> frame_length =
        context.input(3) == nullptr ? std::nullopt : std::optional(Transform::Number(context, 3, 0));
    const StftAttributes::Sizes sizes = attributes_.Fit(x, step, window, frame_length);
    const cl_int length = Counted(sizes.length, "frame_length");
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
  Transform transform_;
  StftAttributes attributes_;
};

/// Transforms are sums over all points for each bin: where these are many, the CPU provider's fast transforms take fewer
/// steps by far.
std::string LengthRefusal(std::optional<int64_t> length) {
  constexpr int64_t kMostPoints = 4096;
  if (!length) return "transforms of lengths that are not known are left to the CPU provider";
  return *length > kMostPoints ? fmt::format("transforms of more than {} points are left to the CPU provider", kMostPoints)
                               : "";
}

std::optional<int64_t> ConstantInteger(const NodeInfo& info, size_t input) {
  const Tensor* tensor = info.constant_input(input);
  if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
  if (tensor->is(ElementType::kInt32)) return *tensor->data<int32_t>();
  return tensor->is(ElementType::kInt64) ? std::optional(*tensor->data<int64_t>()) : std::nullopt;
}

std::optional<int64_t> KnownDimension(const TypeInfo& type, int64_t axis) {
  const auto at = AxisWithin(axis, type.shape ? type.shape->size() : 0);
  return at && (*type.shape)[*at].known() ? std::optional((*type.shape)[*at].value) : std::nullopt;
}

std::string DftRefusal(const NodeInfo& info) {
  const DftAttributes attributes(info.node());
  if (attributes.inverse) return "inverse transforms are left to the CPU provider";
  if (info.has_input(1)) return LengthRefusal(ConstantInteger(info, 1));
  const bool given = attributes.axis_is_input && info.has_input(2);
  const auto axis = given ? ConstantInteger(info, 2) : std::optional(attributes.axis);
  return LengthRefusal(axis ? KnownDimension(info.input_info(0), *axis) : std::nullopt);
}

std::string StftRefusal(const NodeInfo& info) {
  if (info.has_input(3)) return LengthRefusal(ConstantInteger(info, 3));
  return LengthRefusal(info.has_input(2) ? KnownSize(info.input_info(2)) : KnownDimension(info.input_info(0), 1));
}

}  // namespace

void RegisterDft(KernelRegistry& registry) {
  registry.Add(Op("DFT").Versions(17).Types(0, kReals).HostInput(1).HostInput(2).Unless(DftRefusal).Make<Dft>());
  registry.Add(Op("STFT").Versions(17).Types(0, kReals).HostInput(1).HostInput(3).Unless(StftRefusal).Make<Stft>());
}

}  // namespace tessera::opencl
