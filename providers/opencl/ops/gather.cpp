// Gather (1-13), GatherElements (11-13). Indices are read on the host, which checks them, and sent from there.

#include <algorithm>
#include <optional>

#include "base/cancellation.h"
#include "opencl/device/kernel.h"
#include "ops/movement/gather.h"

namespace tessera::opencl {
namespace {

constexpr TypeSet kIndices = {ElementType::kInt32, ElementType::kInt64};

/// Index tensors of one node: constants are checked and sent once.
class Indices {
 public:
  explicit Indices(const KernelInfo& info) : device_(DeviceOf(info)) {
    if (const Tensor* constant = info.constant_input(1)) {
      if (constant->num_elements() > 0) kept_.emplace(Send(*constant));
      range_ = RangeOf(*constant);
    }
  }

  /// A buffer with `indices`, all of which lie in [-size, size). The driver keeps it until what is enqueued with it is
  /// done.
  Buffer Checked(const Tensor& indices, int64_t size) const {
    const auto [low, high] = range_ ? *range_ : RangeOf(indices);
    Require(low >= -size && high < size, "an index is {}, expected one in [{}, {})", low < -size ? low : high, -size, size);
    return kept_ ? kept_->Retained() : Send(indices);
  }

 private:
  static std::pair<int64_t, int64_t> RangeOf(const Tensor& indices) {
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
  Buffer Send(const Tensor& indices) const { return device_.BufferOf(indices.raw(), indices.byte_size()); }

  Device& device_;
  std::optional<Buffer> kept_;
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
    const Buffer sent = indices_.Checked(indices, x.shape()[axis]);
    kernel_.Linear(context, y.num_elements(), x, BufferRange{sent.get(), 0}, y, cl_long{x.shape()[axis]},
                   cl_long{indices.num_elements()}, cl_long{x.shape().SizeOfRange(axis + 1, x.shape().rank())});
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
    const Buffer sent = indices_.Checked(indices, x.shape()[axis]);
    Strided s = Block(indices.shape());
    s.a = RowMajor(x.shape());
    kernel_.Linear(context, y.num_elements(), x, BufferRange{sent.get(), 0}, y, s, static_cast<cl_int>(axis),
                   cl_long{x.shape()[axis]});
  }

 private:
  Launchable kernel_;
  Indices indices_;
  int64_t axis_;
};

}  // namespace

void RegisterGather(KernelRegistry& registry) {
  registry.Add(Op("Gather").Versions(1).Types(0, kMovable).Types(1, kIndices).HostInput(1).Make<Gather>());
  registry.Add(Op("GatherElements").Versions(11).Types(0, kMovable).Types(1, kIndices).HostInput(1).Make<GatherElements>());
}

}  // namespace tessera::opencl
