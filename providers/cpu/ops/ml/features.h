#pragma once

// Inputs and class labels of ai.onnx.ml's models.

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/cancellable_memory.h"
#include "base/checked.h"
#include "base/string_memory.h"
#include "cpu/types.h"

namespace tessera::cpu {

inline constexpr TypeSet kMlNumbers = {ElementType::kFloat, ElementType::kDouble, ElementType::kInt64, ElementType::kInt32};
using MlNumberTypes = TypeList<float, double, int64_t, int32_t>;

/// Rows of features: [N,C], or [C] as one row.
struct Rows {
  int64_t count = 0;
  int64_t features = 0;

  explicit Rows(const Tensor& x) {
    const Shape& shape = x.shape();
    Require(shape.rank() == 1 || shape.rank() == 2, "X has shape {}, [C] or [N,C] is expected", shape);
    count = shape.rank() == 2 ? shape[0] : 1;
    features = shape.back();
  }
};

template <class To, class From>
void ConvertElements(const From* from, To* to, int64_t count) {
  InCancellablePieces(0, count, 0.5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(from[i]);
  });
}

/// The elements of `x` as T: where they lie, or converted into scratch memory.
template <class T>
const T* ElementsAs(KernelContext& context, const Tensor& x) {
  if (x.is(ElementTypeOf<T>)) return x.data<T>();
  T* converted = context.scratch<T>(static_cast<size_t>(x.num_elements())).data();
  VisitType(TypeList<float, double, int64_t, int32_t, Float16>{}, x.type(),
            [&]<class From>() { ConvertElements(x.data<From>(), converted, x.num_elements()); });
  return converted;
}

/// Class labels, all strings or all integers.
class ClassLabels {
 public:
  ClassLabels(const KernelInfo& info, const char* ints)
      : strings_(info.attribute<std::vector<std::string>>("classlabels_strings", {})),
        ints_(info.attribute<std::vector<int64_t>>(ints, {})) {
    Require(strings_.empty() || ints_.empty(), "one of 'classlabels_strings' and '{}' is expected, both are given", ints);
  }

  size_t size() const noexcept { return strings_.empty() ? ints_.size() : strings_.size(); }
  ElementType type() const noexcept { return strings_.empty() ? ElementType::kInt64 : ElementType::kString; }
  const std::vector<std::string>& strings() const noexcept { return strings_; }
  const std::vector<int64_t>& ints() const noexcept { return ints_; }

  /// Output 0, null when omitted, for the labels of `rows` rows. Strings are counted as if all were the longest, before any
  /// is set.
  Tensor* Output(KernelContext& context, int64_t rows) const {
    Tensor* y = context.output(0, type(), Shape{rows});
    if (y == nullptr || strings_.empty()) return y;
    const size_t longest = std::ranges::max(strings_, {}, &std::string::size).size();
    StringCharge(*y, context.allocator()).Add(CheckedMul(static_cast<size_t>(rows), TextBytes(longest)));
    return y;
  }
  /// Output `y` (null when omitted) at `row` becomes label `index`.
  void Set(Tensor* y, int64_t row, size_t index) const {
    if (y == nullptr) return;
    if (strings_.empty()) {
      y->mutable_data<int64_t>()[row] = index < ints_.size() ? ints_[index] : static_cast<int64_t>(index);
    } else {
      y->mutable_data<std::string>()[row] = index < strings_.size() ? strings_[index] : std::to_string(index);
    }
  }
  /// 1 or 0, where there are no two labels to choose from.
  void SetSign(Tensor* y, int64_t row, bool positive) const {
    if (y == nullptr) return;
    if (strings_.empty()) {
      y->mutable_data<int64_t>()[row] = positive ? 1 : 0;
    } else {
      y->mutable_data<std::string>()[row].assign(1, positive ? '1' : '0');
    }
  }

 private:
  std::vector<std::string> strings_;
  std::vector<int64_t> ints_;
};

}  // namespace tessera::cpu
