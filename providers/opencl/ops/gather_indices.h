#pragma once

// What Gather and GatherElements share: indices are read on the host, which checks them, and sent from there.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/cancellation.h"
#include "base/check.h"
#include "opencl/device/constants.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {

inline constexpr TypeSet kIndices = {ElementType::kInt32, ElementType::kInt64};

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

inline std::string GatherTypes(const KernelInfo& info) {
  return Moved('X', info.input_type(0)) + Computed('I', info.input_type(1));
}

}  // namespace tessera::opencl
