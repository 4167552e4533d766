// Compress (9, 11). The condition is read on the host, and the positions that it keeps are sent from there.

#include <algorithm>
#include <span>

#include "base/cancellation.h"
#include "opencl/ops/slices.h"
#include "ops/movement/compress.h"

namespace tessera::opencl {
namespace {

/// Gathers the kept positions of an axis, or of all elements in a row.
class Compress final : public Kernel {
 public:
  explicit Compress(const KernelInfo& info)
      : kernel_(DeviceOf(info), "gather", Moved('X', info.input_type(0)) + Computed('I', ElementType::kInt64), "gather"),
        positions_(info, 1),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& condition = context.required_input(1);
    const AxisView view = attributes_.View(x.shape(), condition);
    const int64_t length = std::min(view.count, condition.num_elements());
    const auto* wanted = static_cast<const uint8_t*>(condition.raw());
    int64_t kept = 0;
    InCancellablePieces(0, length, 0.1, [&](int64_t begin, int64_t end) {
      kept += end - begin - std::count(wanted + begin, wanted + end, uint8_t{0});
    });
    const Tensor& y = *context.output(0, attributes_.ResultShape(x.shape(), kept));
    if (y.num_elements() == 0) return;
    const SentData sent = positions_.Send(context, Shape{length}, kept, [&](std::span<int64_t> positions) {
      PacedCancellationPoint point(2);
      for (int64_t i = 0, to = 0; i < length; ++i) {
        point.Pass();
        if (wanted[i] != 0) positions[static_cast<size_t>(to++)] = i;
      }
    });
    kernel_.Linear(context, y.num_elements(), x, sent.range(), y, cl_long{view.count}, cl_long{kept}, cl_long{view.inner});
  }

 private:
  Launchable kernel_;
  SentIntegers positions_;
  CompressAttributes attributes_;
};

}  // namespace

void RegisterCompress(KernelRegistry& registry) {
  registry.Add(Op("Compress").Versions(9).Types(0, kMovable).HostInput(1).Make<Compress>());
}

}  // namespace tessera::opencl
