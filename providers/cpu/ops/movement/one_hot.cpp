// OneHot (9, 11, 28): a new axis of `depth` elements, on at the index and off elsewhere.

#include <cmath>
#include <limits>

#include "cpu/engine/indices.h"
#include "cpu/engine/on_texts.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/movement/one_hot.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kNowhere = std::numeric_limits<int64_t>::min();

/// As a cast to int64 has it; numbers that fit none match no index.
template <class T>
int64_t ToIndex(T value) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return kNowhere;
    }
    return static_cast<int64_t>(value);
  } else {
    const auto number = static_cast<double>(value);
    return std::abs(number) < 0x1p62 ? static_cast<int64_t>(number) : kNowhere;
  }
}

struct OneHotGeometry {
  int64_t depth;
  int64_t suffix;  // indices inside of the new axis
  bool wraps;      // negative indices count from the end
};

/// Sets the elements of indices [begin, end).
template <class T, class Index>
void SetOn(const OneHotGeometry& g, const Index* indices, const T& on, T* output, int64_t begin, int64_t end) {
  int64_t row = begin / g.suffix, at = begin % g.suffix;
  for (int64_t i = begin; i < end; ++row, at = 0) {
    T* block = output + row * g.depth * g.suffix;
    for (; at < g.suffix && i < end; ++at, ++i) {
      int64_t index = indices[i];
      if (index < 0 && g.wraps) index += g.depth;
      if (static_cast<uint64_t>(index) < static_cast<uint64_t>(g.depth)) block[index * g.suffix + at] = on;
    }
  }
}

class OneHot final : public Kernel {
 public:
  explicit OneHot(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& indices = context.required_input(0);
    const Tensor& depth_input = context.required_input(1);
    const Tensor& values = context.required_input(2);
    const Shape& dims = indices.shape();
    Require(depth_input.num_elements() == 1, "depth has {} elements, expected one", depth_input.num_elements());
    const int64_t depth =
        VisitType(NumberTypes{}, depth_input.type(), [&]<class T>() { return ToIndex(*depth_input.data<T>()); });
    const size_t axis = attributes_.Axis(dims, depth, values.shape());
    const Shape shape = OneHotAttributes::ResultShape(dims, depth, axis);
    if (shape.num_elements() == 0) return static_cast<void>(context.output(0, values.type(), shape));
    const OneHotGeometry g{depth, dims.SizeOfRange(axis, dims.rank()), attributes_.wraps};
    if (indices.is(ElementType::kInt64)) return Run(context, g, indices.data<int64_t>(), values, shape);
    if (indices.is(ElementType::kInt32)) return Run(context, g, indices.data<int32_t>(), values, shape);
    const auto converted = context.scratch<int64_t>(static_cast<size_t>(indices.num_elements()));
    VisitType(NumberTypes{}, indices.type(), [&]<class T>() {
      std::transform(indices.data<T>(), indices.data<T>() + converted.size(), converted.data(), ToIndex<T>);
    });
    Run(context, g, converted.data(), values, shape);
  }

 private:
  template <class Index>
  static void Run(KernelContext& context, const OneHotGeometry& g, const Index* indices, const Tensor& values,
                  const Shape& shape) {
    if (values.is(ElementType::kString)) {
      const auto off_on = values.values<std::string>();
      const auto texts = context.scratch<std::string_view>(static_cast<size_t>(shape.num_elements()));
      std::ranges::fill(texts, off_on[0]);
      SetOn(g, indices, std::string_view(off_on[1]), texts.data(), 0, shape.num_elements() / g.depth);
      return WriteTexts(context, 0, shape, texts);
    }
    Tensor& output = *context.output(0, values.type(), shape);
    const ElementKind element = KindOf(values.type());
    const int64_t block = g.depth * g.suffix;
    VisitElement(element, [&]<class T>() {
      const T* off_on = static_cast<const T*>(values.raw());
      T* to = static_cast<T*>(output.mutable_raw());
      if (block * element.bytes > kCachedBytes) {
        FillParallel(context.threads(), to, off_on, output.num_elements(), element);
        const int64_t count = output.num_elements() / g.depth;
        context.threads().ParallelFor(count, 2,
                                      [&](int64_t begin, int64_t end) { SetOn(g, indices, off_on[1], to, begin, end); });
        return;
      }
      const double cost = CopyCost(element) * static_cast<double>(block) + 2.0 * static_cast<double>(g.suffix);
      context.threads().ParallelFor(output.num_elements() / block, cost, [&](int64_t begin, int64_t end) {
        const int64_t step = std::max<int64_t>(1, kCachedBytes / (block * element.bytes));
        for (int64_t at = begin; at < end; at += step) {
          const int64_t stop = std::min(end, at + step);
          std::fill(to + at * block, to + stop * block, off_on[0]);
          SetOn(g, indices, off_on[1], to, at * g.suffix, stop * g.suffix);
        }
      });
    });
  }

  static constexpr int64_t kCachedBytes = 16 * 1024;
  const OneHotAttributes attributes_;
};

}  // namespace

void RegisterOneHot(KernelRegistry& registry) { registry.Add(Op("OneHot").Versions(9).Make<OneHot>()); }

}  // namespace tessera::cpu
