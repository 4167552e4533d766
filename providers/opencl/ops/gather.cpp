// Gather (1-13), GatherElements (11-13), Compress (9, 11). Indices are read on the host, which checks them, and sent from
// there.

#include <algorithm>
#include <optional>

#include "base/cancellation.h"
#include "opencl/device/constants.h"
#include "opencl/ops/slices.h"
#include "ops/movement/compress.h"
#include "ops/movement/gather.h"

namespace tessera::opencl {
namespace {

constexpr TypeSet kIndices = {ElementType::kInt32, ElementType::kInt64};

/// Index tensors of one node: constants are checked and sent once.
class Indices {
 public:
  explicit Indices(const KernelInfo& info) {
    if (const Tensor* constant = info.constant_input(1)) {
      if (constant->num_elements() > 0) kept_ = ConstantsOf(info).OnDevice(*constant);
      range_ = LeastAndMost(*constant);
    }
  }

  /// Calls launch(range) with where `indices` lie on the device, all of which lie in [-size, size).
  template <class Launch>
  void With(KernelContext& context, const Tensor& indices, int64_t size, Launch&& launch) const {
    const auto [low, high] = range_ ? *range_ : LeastAndMost(indices);
    Require(low >= -size && high < size, "an index is {}, expected one in [{}, {})", low < -size ? low : high, -size, size);
    if (kept_) return launch(RangeOf(*kept_));
    launch(SentData(context, indices.raw(), indices.byte_size()).range());
  }

 private:
  static std::pair<int64_t, int64_t> LeastAndMost(const Tensor& indices) {
    const auto of = [](const auto& values) -> std::pair<int64_t, int64_t> {
      if (values.empty()) return {0, -1};
      std::pair<int64_t, int64_t> range{values[0], values[0]};
      InCancellablePieces(0, static_cast<int64_t>(values.size()), 1, [&](int64_t begin, int64_t end) {
        const auto [low, high] = std::minmax_element(values.begin() + begin, values.begin() + end);
        range = {std::min<int64_t>(range.first, *low), std::max<int64_t>(range.second, *high)};
      });
      return range;
    };
    return indices.is(ElementType::kInt32) ? of(indices.values<int32_t>()) : of(indices.values<int64_t>());
  }

  std::optional<Tensor> kept_;
  std::optional<std::pair<int64_t, int64_t>> range_;
};

std::string GatherTypes(const KernelInfo& info) {
  return Moved('X', info.input_type(0)) + Computed('I', info.input_type(1));
}

class Gather final : public Kernel {
 public:
  explicit Gather(const KernelInfo& info)
      : kernel_(DeviceOf(info), "gather", GatherTypes(info), "gather"),
        indices_(info),
        axis_(GatherAttributes(info.node()).axis) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const size_t axis = NormalizeAxis(axis_, x.shape().rank());
    Tensor& y = *context.output(0, GatherAttributes::ResultShape(x.shape(), indices.shape(), axis));
    if (y.num_elements() == 0) return;
    indices_.With(context, indices, x.shape()[axis], [&](const BufferRange& sent) {
      kernel_.Linear(context, y.num_elements(), x, sent, y, cl_long{x.shape()[axis]}, cl_long{indices.num_elements()},
                     cl_long{x.shape().SizeOfRange(axis + 1, x.shape().rank())});
    });
  }

 private:
  Launchable kernel_;
  Indices indices_;
  int64_t axis_;
};

class GatherElements final : public Kernel {
 public:
  explicit GatherElements(const KernelInfo& info)
      : kernel_(DeviceOf(info), "gather", GatherTypes(info), "gather_elements"),
        indices_(info),
        axis_(GatherAttributes(info.node()).axis) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const size_t axis = ElementsAxis(x.shape(), indices.shape(), axis_);
    Tensor& y = *context.output(0, indices.shape());
    if (y.num_elements() == 0) return;
    Strided s = Block(indices.shape());
    s.a = RowMajor(x.shape());
    indices_.With(context, indices, x.shape()[axis], [&](const BufferRange& sent) {
      kernel_.Linear(context, y.num_elements(), x, sent, y, s, static_cast<cl_int>(axis), cl_long{x.shape()[axis]});
    });
  }

 private:
  Launchable kernel_;
  Indices indices_;
  int64_t axis_;
};

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

void RegisterGather(KernelRegistry& registry) {
  registry.Add(Op("Gather").Versions(1).Types(0, kMovable).Types(1, kIndices).HostInput(1).Make<Gather>());
  registry.Add(Op("GatherElements").Versions(11).Types(0, kMovable).Types(1, kIndices).HostInput(1).Make<GatherElements>());
  registry.Add(Op("Compress").Versions(9).Types(0, kMovable).HostInput(1).Make<Compress>());
}

}  // namespace tessera::opencl
