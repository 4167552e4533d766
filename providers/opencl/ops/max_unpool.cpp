// MaxUnpool (9-22): values go back where MaxPool's indices found them. The host reads the indices and checks them.

#include <vector>

#include "base/checked.h"
#include "base/window.h"
#include "ops/slices.h"

namespace tessera::opencl {
namespace {

class MaxUnpool final : public Kernel {
 public:
  explicit MaxUnpool(const KernelInfo& info)
      : fill_(DeviceOf(info), "fill", Moved('X', info.input_type(0)), "fill"),
        place_(DeviceOf(info), "max_unpool", Moved('X', info.input_type(0)), "max_unpool"),
        plan_(info, 1),
        kernel_(PositiveAttribute(info.node(), "kernel_shape")),
        strides_(PositiveAttribute(info.node(), "strides")),
        pads_(info.attribute("pads", std::vector<int64_t>{})) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    Require(indices.is(ElementType::kInt64) && indices.shape() == x.shape(), "the indices are {}, the input is {}", indices.shape(), x.shape());
    const Tensor* wanted = context.input(2);
    const Shape pooled = Unpooled(x.shape()), shape = wanted == nullptr ? pooled : HostIntegers(*wanted);
    Require(shape.rank() == pooled.rank(), "output_shape has {} values, {} are expected", shape.rank(), pooled.rank());
    for (const int64_t dim : shape) Require(dim >= 0, "output_shape holds {}", dim);
    const Tensor& y = *context.output(0, shape);
    fill_.Linear(context, y.num_elements(), y, cl_ulong{0});
    Shape key = shape;
    for (const int64_t dim : pooled) key.Append(dim);
    const int64_t count = x.num_elements();
    if (count == 0) return;
    const Buffer sent = plan_.Send(context, key, count, [&](std::span<int64_t> places) { Place(indices.values<int64_t>(), pooled, shape, places); });
    place_.Linear(context, count, x, BufferRange{sent.get(), 0}, y);
  }

 private:
  Shape Unpooled(const Shape& input) const {
    const size_t rank = kernel_.rank();
    Require(input.rank() == rank + 2, "kernel_shape has {} axes, the input is {}", rank, input);
    Require(strides_.rank() == 0 || strides_.rank() == rank, "attribute 'strides' has {} values, {} are expected", strides_.rank(), rank);
    Require(pads_.rank() == 0 || pads_.rank() == 2 * rank, "attribute 'pads' has {} values, {} are expected", pads_.rank(), 2 * rank);
    Shape shape = input;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t stride = strides_.rank() == 0 ? 1 : strides_[i], pads = pads_.rank() == 0 ? 0 : CheckedAdd(pads_[i], pads_[rank + i]);
      const int64_t size = CheckedAdd(CheckedMul(input[i + 2] - 1, stride), kernel_[i]);
      Require(pads >= 0 && size >= pads, "spatial axis {} would have {} elements", i, size - pads);
      shape[i + 2] = size - pads;
    }
    return shape;
  }

  /// Indices count in `pooled`, what the pooling had seen; another result keeps each value's coordinates. Of several values in one
  /// place the last one stays. -1: nowhere.
  static void Place(std::span<const int64_t> indices, const Shape& pooled, const Shape& result, std::span<int64_t> places) {
    const int64_t limit = pooled.num_elements();
    std::vector<bool> taken(static_cast<size_t>(result.num_elements()));
    for (size_t i = indices.size(); i-- > 0;) {
      Require(indices[i] >= 0 && indices[i] < limit, "index {} is outside the unpooled tensor of {} elements", indices[i], limit);
      const int64_t place = pooled == result ? indices[i] : Translate(indices[i], pooled, result);
      const bool free = place >= 0 && !taken[static_cast<size_t>(place)];
      if (free) taken[static_cast<size_t>(place)] = true;
      places[i] = free ? place : -1;
    }
  }

  static int64_t Translate(int64_t place, const Shape& from, const Shape& to) {
    int64_t result = 0, stride = 1;
    for (size_t i = from.rank(); i-- > 0;) {
      const int64_t coordinate = place % from[i];
      if (coordinate >= to[i]) return -1;
      result += coordinate * stride;
      stride *= to[i];
      place /= from[i];
    }
    return result;
  }

  Launchable fill_, place_;
  SentIntegers plan_;
  Shape kernel_, strides_, pads_;
};

}  // namespace

void RegisterMaxUnpool(KernelRegistry& registry) {
  registry.Add(Op("MaxUnpool").Versions(9).Types(0, kReals).HostInput(1).HostInput(2).Make<MaxUnpool>());
}

}  // namespace tessera::opencl
