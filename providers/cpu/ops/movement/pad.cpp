// Pad (1, 2: attributes; 11, 13: inputs; 18: axes; 19: wrap; 21, 23, 24, 25): adds elements around the data, negative pads
// take some away. Those are cut first: what the other modes repeat is the rest.

#include "ops/movement/pad.h"
#include "base/checked.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

/// One dimension: `copied` elements from `first` on land at `before` of `out`. Sizes count blocks or elements.
struct Axis {
  int64_t in, first, before, copied, out;

  bool plain() const { return in == out && copied == in; }
  void Multiply(int64_t size) {
    for (int64_t* value : {&in, &first, &before, &copied, &out}) *value *= size;
  }
};

/// Outer dimensions, and the last one in elements.
struct PadGeometry {
  std::span<const Axis> outer;
  Axis row;
};

/// Coordinates of row `index` in the output.
void Locate(std::span<const Axis> outer, int64_t index, Shape& at) {
  for (size_t d = outer.size(); d-- > 0; index /= outer[d].out) at[d] = index % outer[d].out;
}

void Advance(std::span<const Axis> outer, Shape& at) {
  for (size_t d = outer.size(); d-- > 0; at[d] = 0) {
    if (++at[d] < outer[d].out) return;
  }
}

/// Rows [begin, end) of the output. What lies between two copied runs is filled at once.
template <class T>
void PadConstant(const PadGeometry& g, const T* from, const T& value, T* to, int64_t begin, int64_t end) {
  Shape at(g.outer.size());
  Locate(g.outer, begin, at);
  T* pending = to + begin * g.row.out;
  for (int64_t r = begin; r < end; ++r, Advance(g.outer, at)) {
    int64_t source = 0;
    bool inside = true;
    for (size_t d = 0; d < g.outer.size(); ++d) {
      const Axis& axis = g.outer[d];
      const int64_t position = at[d] - axis.before;
      inside &= static_cast<uint64_t>(position) < static_cast<uint64_t>(axis.copied);
      source = source * axis.in + position + axis.first;
    }
    if (!inside) continue;
    T* target = to + r * g.row.out + g.row.before;
    std::fill(pending, target, value);
    const T* row = from + source * g.row.in + g.row.first;
    if constexpr (std::is_same_v<T, std::string>) {
      std::copy_n(row, g.row.copied, target);
    } else {
      CopyBytes(reinterpret_cast<std::byte*>(target), reinterpret_cast<const std::byte*>(row),
                static_cast<size_t>(g.row.copied) * sizeof(T));
    }
    pending = target + g.row.copied;
  }
  std::fill(pending, to + end * g.row.out, value);
}

/// Position `i` of the cut dimension of `size` elements that is beyond its ends.
int64_t Repeated(PadMode mode, int64_t i, int64_t size) {
  if (mode == PadMode::kEdge) return std::clamp<int64_t>(i, 0, size - 1);
  const int64_t period = mode == PadMode::kWrap ? size : std::max<int64_t>(1, 2 * (size - 1));
  i %= period;
  if (i < 0) i += period;
  return i < size ? i : period - i;
}

/// For each position of the output along each axis, the offset of its source; `maps` are behind each other.
struct Maps {
  std::span<const Axis> axes;  // the last one is the row, in blocks
  const int64_t* offsets;
  int64_t block;
};

/// Rows [begin, end) of the output, with the offset of the source's row and the first element of the target's.
template <class Row>
void ForEachRow(const Maps& maps, int64_t begin, int64_t end, Row&& row) {
  const std::span<const Axis> outer = maps.axes.first(maps.axes.size() - 1);
  const int64_t length = maps.axes.back().out * maps.block;
  Shape at(outer.size());
  Locate(outer, begin, at);
  for (int64_t r = begin; r < end; ++r, Advance(outer, at)) {
    const int64_t* offsets = maps.offsets;
    int64_t source = 0;
    for (size_t d = 0; d < outer.size(); offsets += outer[d++].out) source += offsets[at[d]];
    row(source, r * length, offsets);
  }
}

void PadRepeated(const Maps& maps, ElementKind element, const std::byte* from, std::byte* to, int64_t begin, int64_t end) {
  const Axis& axis = maps.axes.back();
  const int64_t after = axis.before + axis.copied, bytes = element.bytes;
  if (maps.block > 1) {
    ForEachRow(maps, begin, end, [&](int64_t source, int64_t target, const int64_t* offsets) {
      const auto copy = [&](int64_t i, int64_t count) {
        CopyElements(to + (target + i * maps.block) * bytes, from + (source + offsets[i]) * bytes, count * maps.block,
                     element);
      };
      for (int64_t i = 0; i < axis.before; ++i) copy(i, 1);
      copy(axis.before, axis.copied);
      for (int64_t i = after; i < axis.out; ++i) copy(i, 1);
    });
    return;
  }
  VisitElement(element, [&]<class T>() {
    ForEachRow(maps, begin, end, [&](int64_t source, int64_t target, const int64_t* offsets) {
      const T* row = reinterpret_cast<const T*>(from) + source;
      T* result = reinterpret_cast<T*>(to) + target;
      for (int64_t i = 0; i < axis.before; ++i) result[i] = row[offsets[i]];
      CopyElements(reinterpret_cast<std::byte*>(result + axis.before), reinterpret_cast<const std::byte*>(row + axis.first),
                   axis.copied, element);
      for (int64_t i = after; i < axis.out; ++i) result[i] = row[offsets[i]];
    });
  });
}

class Pad final : public Kernel {
 public:
  explicit Pad(const KernelInfo& info) : attributes_(info.node()) {
    if (!attributes_.from_attributes) return;
    VisitType(FloatTypes{}, info.input_type(0), [&]<class T>() {
      const T value(attributes_.value);
      std::memcpy(value_, &value, sizeof(T));
    });
  }

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const std::span<Axis> axes = context.scratch<Axis>(data.shape().rank());
    FindAxes(context, data.shape(), axes);
    Shape shape(axes.size());
    bool whole = true, empty = false;
    for (size_t d = 0; d < axes.size(); ++d) {
      shape[d] = axes[d].out;
      whole &= axes[d].plain();
      empty |= axes[d].copied <= 0;
    }
    if (whole) return context.set_output(0, data);
    Tensor* output = context.output(0, data.type(), shape);
    if (output->num_elements() == 0) return;
    if (attributes_.mode == PadMode::kConstant) {
      const void* value = ConstantValue(context, data);
      if (empty) {
        return FillParallel(context.threads(), output->mutable_raw(), value, output->num_elements(), KindOf(data.type()));
      }
      return RunConstant(context, axes, data, value, *output);
    }
    Require(!empty, "shape {} leaves nothing to repeat in {}", data.shape(), shape);
    RunRepeated(context, axes, data, *output);
  }

 private:
  void FindAxes(KernelContext& context, const Shape& dims, std::span<Axis> axes) const {
    const PaddedShape padded = attributes_.Pads(dims, context.input(1), context.input(3));
    for (size_t d = 0; d < axes.size(); ++d) {
      Axis& axis = axes[d];
      axis.in = dims[d];
      axis.out = padded.result[d];
      axis.first = std::max<int64_t>(-padded.before[d], 0);
      axis.before = std::max<int64_t>(padded.before[d], 0);
      axis.copied = axis.in - axis.first - std::max<int64_t>(-padded.after[d], 0);
    }
  }

  const void* ConstantValue(KernelContext& context, const Tensor& data) const {
    const Tensor* given = attributes_.from_attributes ? nullptr : context.input(2);
    if (given == nullptr) return value_;
    Require(given->type() == data.type(), "constant_value is {}, data {}", ElementTypeName(given->type()),
            ElementTypeName(data.type()));
    Require(given->num_elements() == 1, "constant_value has {} elements, expected one", given->num_elements());
    return given->raw();
  }

  /// Merges dimensions that memory walks as one; returns how many are left. A plain dimension can join a padded outer one
  /// only where no offsets are looked up.
  static size_t Merge(std::span<Axis> axes, bool into_padded) {
    size_t count = 0;
    for (const Axis& axis : axes) {
      if (axis.plain() && axis.in == 1) continue;
      if (count > 0 && axis.plain() && (into_padded || axes[count - 1].plain())) {
        axes[count - 1].Multiply(axis.in);
      } else {
        axes[count++] = axis;
      }
    }
    return count;
  }

  static void RunConstant(KernelContext& context, std::span<Axis> axes, const Tensor& data, const void* value,
                          Tensor& output) {
    axes = axes.first(Merge(axes, true));
    const PadGeometry g{axes.first(axes.size() - 1), axes.back()};
    const ElementKind element = KindOf(data.type());
    const double cost = CopyCost(element) * static_cast<double>(g.row.out) + 4;
    VisitElement(element, [&]<class T>() {
      const T* from = static_cast<const T*>(data.raw());
      T* to = static_cast<T*>(output.mutable_raw());
      context.threads().ParallelFor(output.num_elements() / g.row.out, cost, [&](int64_t begin, int64_t end) {
        PadConstant(g, from, *static_cast<const T*>(value), to, begin, end);
      });
    });
  }

  void RunRepeated(KernelContext& context, std::span<Axis> axes, const Tensor& data, Tensor& output) const {
    axes = axes.first(Merge(axes, false));
    int64_t block = 1;
    if (axes.back().plain()) {
      block = axes.back().in;
      axes = axes.first(axes.size() - 1);
    }
    size_t positions = 0;
    for (const Axis& axis : axes) positions += static_cast<size_t>(axis.out);
    const auto offsets = context.scratch<int64_t>(positions);
    int64_t stride = block;
    size_t last = positions;
    for (size_t d = axes.size(); d-- > 0; stride *= axes[d].in) {
      const Axis& axis = axes[d];
      last -= static_cast<size_t>(axis.out);
      int64_t* of_axis = offsets.data() + last;
      const auto repeat = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          of_axis[i] = (axis.first + Repeated(attributes_.mode, i - axis.before, axis.copied)) * stride;
      };
      const int64_t after = axis.before + axis.copied;
      repeat(0, axis.before);
      // What a row copies as a whole needs the offset of its first element alone.
      const int64_t looked_up = d + 1 == axes.size() ? 1 : axis.copied;
      for (int64_t i = 0; i < looked_up; ++i) of_axis[axis.before + i] = (axis.first + i) * stride;
      repeat(after, axis.out);
    }
    const ElementKind element = KindOf(data.type());
    const Maps maps{axes, offsets.data(), block};
    const int64_t row = axes.back().out * block;
    const double cost = CopyCost(element) * static_cast<double>(row) + 6;
    context.threads().ParallelFor(output.num_elements() / row, cost, [&](int64_t begin, int64_t end) {
      PadRepeated(maps, element, Bytes(data), Bytes(output), begin, end);
    });
  }

  const PadAttributes attributes_;
  alignas(16) std::byte value_[16] = {};
};

}  // namespace

void RegisterPad(KernelRegistry& registry) { registry.Add(Op("Pad").Versions(1).Factory(MakeMovement<Pad>)); }

}  // namespace tessera::cpu
