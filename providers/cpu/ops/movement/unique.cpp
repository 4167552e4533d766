// Unique (11, 28): the different elements, or the different slices along an axis, and where they come from.
// NaNs are one value, the largest; slices of a matrix or larger that hold one differ from every other, as numpy has it.

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/cancellation.h"
#include "base/string_memory.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/order_key.h"
#include "cpu/engine/sort_order.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

/// The input as `rows` rows of `width` elements: [outer, rows, inner] with the middle one first.
struct Rows {
  int64_t outer, rows, inner;
  bool nan_differs = false;
  int64_t width() const { return outer * inner; }
};

/// Rows in ascending order; rows of one group are equal, groups count from 0.
struct Groups {
  std::span<int64_t> first, counts, group_of;
  int64_t count = 0;

  /// `order` has equal rows together, each group in input order.
  template <class Same>
  void Assign(std::span<const int64_t> order, Same&& same) {
    PacedCancellationPoint look(10);
    for (size_t i = 0; i < order.size(); ++i) {
      look.Pass();
      const auto row = static_cast<size_t>(order[i]);
      if (i == 0 || !same(order[i - 1], order[i])) {
        first[static_cast<size_t>(count)] = order[i];
        counts[static_cast<size_t>(count++)] = 0;
      }
      group_of[row] = count - 1;
      ++counts[static_cast<size_t>(count - 1)];
    }
  }

  /// Renumbers the groups by first occurrence. The spare arrays have one element per row.
  void InInputOrder(std::span<int64_t> new_number, std::span<int64_t> spare) {
    int64_t next = 0;
    PacedCancellationPoint look(10);
    for (size_t row = 0; row < group_of.size(); ++row) {
      look.Pass();
      const int64_t group = group_of[row];
      if (first[static_cast<size_t>(group)] == static_cast<int64_t>(row)) {
        spare[static_cast<size_t>(next)] = counts[static_cast<size_t>(group)];
        new_number[static_cast<size_t>(group)] = next++;
      }
      group_of[row] = new_number[static_cast<size_t>(group)];
    }
    std::copy_n(spare.begin(), count, counts.begin());
    for (size_t row = group_of.size(); row-- > 0; look.Pass())
      first[static_cast<size_t>(group_of[row])] = static_cast<int64_t>(row);
  }
};

class Unique final : public Kernel {
 public:
  explicit Unique(const KernelInfo& info)
      : type_(OrderedTypeOf(info.input_type(0))), sorted_(info.attribute<int64_t>("sorted", 1) != 0) {
    if (info.has_attribute("axis")) axis_ = info.attribute<int64_t>("axis");
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& dims = input.shape();
    Rows rows{1, input.num_elements(), 1};
    size_t axis = 0;
    if (axis_) {
      axis = NormalizeAxis(*axis_, dims.rank());
      rows = {dims.SizeOfRange(0, axis), dims[axis], dims.SizeOfRange(axis + 1, dims.rank()), dims.rank() > 1};
      if (input.num_elements() == 0) rows.outer = 0;  // nothing to go through, however many slices it is in
    }
    const auto count = static_cast<size_t>(rows.rows);
    const std::span<int64_t> order = context.scratch<int64_t>(count), spare = context.scratch<int64_t>(count);
    Groups groups{context.scratch<int64_t>(count), context.scratch<int64_t>(count), context.scratch<int64_t>(count)};
    std::iota(order.begin(), order.end(), int64_t{0});
    if (type_ == ElementType::kString) {
      GroupStrings(input.data<std::string>(), rows, order, groups);
    } else {
      VisitType(OrderedTypes{}, type_, [&]<class T>() { GroupNumbers<T>(context, input, rows, order, spare, groups); });
    }
    if (!sorted_) groups.InInputOrder(order, spare);

    Shape shape = dims;
    if (axis_) {
      shape[axis] = groups.count;
    } else {
      shape = Shape{groups.count};
    }
    WriteRows(input, rows, groups, context.output(0, input.type(), shape));
    WriteNumbers(context, 1, groups.first.data(), groups.count);
    WriteNumbers(context, 2, groups.group_of.data(), rows.rows);
    WriteNumbers(context, 3, groups.counts.data(), groups.count);
  }

 private:
  static void GroupStrings(const std::string* data, const Rows& rows, std::span<int64_t> order, Groups& groups) {
    const auto compare = [&](int64_t a, int64_t b) {
      for (int64_t o = 0; o < rows.outer; ++o) {
        const std::string* slice = data + o * rows.rows * rows.inner;
        for (int64_t i = 0; i < rows.inner; ++i) {
          if (const int c = slice[a * rows.inner + i].compare(slice[b * rows.inner + i]); c != 0) return c;
        }
      }
      return 0;
    };
    SortByComparing(order, compare);
    groups.Assign(order, [&](int64_t a, int64_t b) { return compare(a, b) == 0; });
  }

  template <class T>
  void GroupNumbers(KernelContext& context, const Tensor& input, const Rows& rows, std::span<int64_t> order,
                    std::span<int64_t> spare, Groups& groups) const {
    using Key = decltype(OrderKey(T()));
    const int64_t width = rows.width();
    const std::span<Key> keys = context.scratch<Key>(static_cast<size_t>(input.num_elements()));
    const T* data = static_cast<const T*>(input.raw());
    context.threads().ParallelFor(rows.rows, 1.0 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
      for (int64_t o = 0; o < rows.outer; ++o) {
        for (int64_t row = begin; row < end; ++row) {
          const T* from = data + (o * rows.rows + row) * rows.inner;
          Key* to = keys.data() + row * width + o * rows.inner;
          for (int64_t i = 0; i < rows.inner; ++i) to[i] = OrderKey(from[i]);
        }
      }
    });
    const bool nan_differs = rows.nan_differs && !std::is_integral_v<T>;  // whose largest key is a number
    Key nan{};
    if constexpr (!std::is_integral_v<T>) nan = OrderKey(T(std::numeric_limits<float>::quiet_NaN()));
    if constexpr (!std::is_same_v<Key, Key128>) {
      if (width == 1 && rows.rows >= kRadixFrom) {
        const std::span<Key> spare_keys = context.scratch<Key>(keys.size());
        RadixSort(keys, order, spare_keys, spare);
        // The keys moved with their rows: compare neighbours.
        size_t i = 0;
        return groups.Assign(order, [&](int64_t, int64_t) {
          ++i;
          return keys[i - 1] == keys[i] && !(nan_differs && keys[i] == nan);
        });
      }
    }
    const auto compare = [&](int64_t a, int64_t b) {
      const Key *x = keys.data() + a * width, *y = keys.data() + b * width;
      for (int64_t i = 0; i < width; ++i) {
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
      }
      return 0;
    };
    SortByComparing(order, compare);
    groups.Assign(order, [&](int64_t a, int64_t b) {
      if (compare(a, b) != 0) return false;
      const Key* row = keys.data() + a * width;
      return !nan_differs || std::find(row, row + width, nan) == row + width;
    });
  }

  static void WriteRows(const Tensor& input, const Rows& rows, const Groups& groups, Tensor* output) {
    if (output == nullptr || output->num_elements() == 0) return;
    StringCharge charge(*output, HostAllocator());
    const ElementKind element = KindOf(input.type());
    VisitElement(element, [&]<class T>() {
      const T* from = static_cast<const T*>(input.raw());
      T* to = static_cast<T*>(output->mutable_raw());
      for (int64_t o = 0; o < rows.outer; ++o) {
        PacedCancellationPoint look(3);
        for (int64_t g = 0; g < groups.count; ++g, to += rows.inner) {
          look.Pass(rows.inner);
          const T* row = from + (o * rows.rows + groups.first[static_cast<size_t>(g)]) * rows.inner;
          if constexpr (std::is_same_v<T, std::string>)
            charge.Add(TextBytes(std::span(row, static_cast<size_t>(rows.inner))));
          std::copy_n(row, rows.inner, to);
        }
      }
    });
  }

  static void WriteNumbers(KernelContext& context, size_t i, const int64_t* numbers, int64_t count) {
    Tensor* output = context.output(i, Shape{count});
    if (output != nullptr) std::copy_n(numbers, count, output->mutable_data<int64_t>());
  }

  static constexpr int64_t kRadixFrom = 256;  // rows for which the radix sort's tables pay

  const ElementType type_;
  const bool sorted_;
  std::optional<int64_t> axis_;
};

}  // namespace

void RegisterUnique(KernelRegistry& registry) {
  registry.Add(Op("Unique").Versions(11).Factory([](const KernelInfo& info) {
    return OnBytes(info, std::make_unique<Unique>(info));  // strings are compared
  }));
}

}  // namespace tessera::cpu
