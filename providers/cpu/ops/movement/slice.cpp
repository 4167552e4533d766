// Slice (1: attributes; 10, 11, 13: inputs): start, end and step per axis, clamped as ops/movement/slice.h has it.

#include "ops/movement/slice.h"

#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/parts.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Slice final : public Kernel {
 public:
  explicit Slice(const KernelInfo& info) : from_attributes_(info.since_version() < 10), may_stay_(MayStayInPlace(info, 0)) {
    if (!from_attributes_) return;
    starts_ = info.attribute<std::vector<int64_t>>("starts");
    ends_ = info.attribute<std::vector<int64_t>>("ends");
    axes_ = info.attribute<std::vector<int64_t>>("axes", {});
  }

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Shape& dims = data.shape();
    const size_t rank = dims.rank();
    Shape shape = dims;
    Shape starts(rank, 0), steps(rank, 1);
    FindRanges(context, dims, shape, starts, steps);
    bool whole = true;
    for (size_t i = 0; i < rank; ++i) whole &= shape[i] == dims[i] && (steps[i] == 1 || dims[i] <= 1);
    if (whole) return context.set_output(0, data);
    const ElementKind element = KindOf(data.type());
    int64_t dst_stride = shape.num_elements(), src_stride = data.num_elements(), first = 0;
    if (dst_stride == 0) return static_cast<void>(context.output(0, data.type(), shape));
    StridedCopy copy(element);
    bool dense = may_stay_;
    for (size_t i = 0; i < rank; ++i) {
      src_stride /= dims[i];
      dst_stride /= shape[i];
      first += starts[i] * src_stride;
      dense &= shape[i] == 1 || steps[i] * src_stride == dst_stride;
      copy.Add(shape[i], shape[i] > 1 ? steps[i] * src_stride : 0, dst_stride);
    }
    if (dense) {
      if (auto part = PartInPlace(data, first * element.bytes, shape); part.has_value())
        return context.set_output(0, *std::move(part));
    }
    copy.Run(context.threads(), Bytes(data) + first * element.bytes, context.output(0, data.type(), shape)->mutable_raw());
  }

 private:
  void FindRanges(KernelContext& context, const Shape& dims, Shape& shape, Shape& starts, Shape& steps) const {
    const Integers first = from_attributes_ ? Integers(starts_) : Integers(context.required_input(1), "starts");
    const Integers end = from_attributes_ ? Integers(ends_) : Integers(context.required_input(2), "ends");
    const Tensor* axes_input = from_attributes_ ? nullptr : context.input(3);
    const Tensor* steps_input = from_attributes_ ? nullptr : context.input(4);
    const Integers axes = axes_input != nullptr ? Integers(*axes_input, "axes") : Integers(axes_);
    const Integers step = steps_input != nullptr ? Integers(*steps_input, "steps") : Integers(axes_);
    const bool has_axes = axes_input != nullptr || !axes_.empty();
    Require(first.size() == end.size(), "{} starts and {} ends were given", first.size(), end.size());
    Require(!has_axes || axes.size() == first.size(), "{} starts and {} axes were given", first.size(), axes.size());
    Require(steps_input == nullptr || step.size() == first.size(), "{} starts and {} steps were given", first.size(),
            step.size());
    Require(first.size() <= dims.rank(), "{} starts were given for shape {}", first.size(), dims);
    const auto set = [&](size_t i, size_t axis) {
      const int64_t by = steps_input != nullptr ? step[i] : 1;
      Require(by != 0, "a step is 0");
      const SliceRange range = ClampSlice(first[i], end[i], by, dims[axis]);
      starts[axis] = range.start;
      shape[axis] = range.count;
      steps[axis] = range.step;
    };
    if (has_axes) {
      MarkAxes(axes, dims.rank(), set);
    } else {
      for (size_t i = 0; i < first.size(); ++i) set(i, i);
    }
  }

  const bool from_attributes_, may_stay_;
  std::vector<int64_t> starts_, ends_, axes_;
};

}  // namespace

void RegisterSlice(KernelRegistry& registry) { registry.Add(Op("Slice").Versions(1).Factory(MakeMovement<Slice>)); }

}  // namespace tessera::cpu
