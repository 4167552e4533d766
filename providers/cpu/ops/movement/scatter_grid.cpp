// ScatterGrid (ai.tessera, 1): output = data, but output[i0[a], i1[b], ..., :] = updates[a, b, ..., :]: inputs data,
// updates and a vector of indices for each of the first axes. Updates are taken in their order, whatever their shape; of
// equal indices the last counts.

#include "base/checked.h"
#include "cpu/engine/index_tuples.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"
#include "graph/private_names.h"

namespace tessera::cpu {
namespace {

class ScatterGrid final : public Kernel {
 public:
  explicit ScatterGrid(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Tensor& updates = context.required_input(1);
    const size_t depth = context.num_inputs() - 2;
    Require(updates.type() == data.type(), "updates are {}, data {}", ElementTypeName(updates.type()),
            ElementTypeName(data.type()));
    Require(depth <= data.shape().rank(), "{} vectors of indices do not fit data of shape {}", depth, data.shape());
    Copy copy{context.threads(), KindOf(data.type()), 0, context.scratch<Axis>(depth)};
    const std::span<int64_t> steps = context.scratch<int64_t>(depth);
    copy.slice = TupleSteps(data.shape(), 0, steps);
    int64_t count = copy.slice;
    for (size_t i = depth; i-- > 0;) {
      copy.axes[i] = AxisOf(context.required_input(i + 2), data.shape()[i], steps[i], count);
      count = CheckedMul(count, copy.axes[i].size);
    }
    Require(updates.num_elements() == count, "updates have shape {}, expected {} elements for data of shape {}",
            updates.shape(), count, data.shape());
    Tensor* output = context.output(0, data.type(), data.shape());
    CopyUnlessInPlace(context.threads(), data, *output);
    if (count == 0) return;
    int64_t first = 0;
    for (const Axis& axis : copy.axes) first += axis.even ? NormalizeIndex(axis.indices[0], axis.dim) * axis.step : 0;
    Run(copy, 0, Bytes(updates), Bytes(*output) + first * copy.element.bytes);
  }

 private:
  struct Axis {
    const int64_t* indices;
    int64_t size, dim;
    int64_t from;        // elements from one index to the next among updates
    int64_t step;        // and from one position of the data to the next
    int64_t difference;  // of indices that follow each other
    bool even;           // it is the same for all, and positive: one copy takes them
  };
  struct Copy {
    ThreadPool& threads;
    ElementKind element;
    int64_t slice;
    std::span<Axis> axes;
  };

  static Axis AxisOf(const Tensor& vector, int64_t dim, int64_t step, int64_t from) {
    Require(vector.is(ElementType::kInt64) && vector.shape().rank() == 1,
            "indices are {} of shape {}, expected a vector of int64", ElementTypeName(vector.type()), vector.shape());
    Axis axis{vector.data<int64_t>(), vector.num_elements(), dim, from, step, 1, true};
    int64_t before = 0;
    for (int64_t i = 0; i < axis.size; ++i) {
      const int64_t index = NormalizeIndex(axis.indices[i], dim);
      if (i == 1) axis.difference = index - before;
      axis.even = axis.even && (i == 0 || (axis.difference > 0 && index - before == axis.difference));
      before = index;
    }
    return axis;
  }

  /// One copy of all even axes for each index of the others, of which those from `at` on are left.
  static void Run(const Copy& copy, size_t at, const std::byte* from, std::byte* to) {
    while (at < copy.axes.size() && copy.axes[at].even) ++at;
    if (at < copy.axes.size()) {
      const Axis& axis = copy.axes[at];
      for (int64_t i = 0; i < axis.size; ++i) {
        const int64_t index = NormalizeIndex(axis.indices[i], axis.dim);
        Run(copy, at + 1, from + i * axis.from * copy.element.bytes, to + index * axis.step * copy.element.bytes);
      }
      return;
    }
    StridedCopy strided(copy.element);
    for (const Axis& axis : copy.axes) {
      if (axis.even) strided.Add(axis.size, axis.from, axis.difference * axis.step);
    }
    strided.Add(copy.slice, 1, 1);
    strided.Run(copy.threads, from, to);
  }
};

}  // namespace

void RegisterScatterGrid(KernelRegistry& registry) {
  registry.Add(Op("ScatterGrid", kTesseraDomain).InPlace(0, 0).Factory(MakeMovement<ScatterGrid>));
}

}  // namespace tessera::cpu
