#pragma once

// Which scale and zero point belong to which element of a quantized tensor.

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"
#include "ops/axis.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Consecutive elements; the scale of the first, and whether it advances with them (1) or stays (0).
struct ScaleRun {
  int64_t count;
  int64_t scale;
  int64_t step;
};

/// One scale for the tensor, one for each index of an axis, or one for each block along an axis.
class QuantizationLayout {
 public:
  /// Throws Error unless `scales` fits `x`. `block_size` 0: not blocked.
  QuantizationLayout(const Shape& x, const Shape& scales, int64_t axis, int64_t block_size);

  /// The longest run that starts at flat index `begin` and ends before `end`.
  ScaleRun Run(int64_t begin, int64_t end) const noexcept {
    const int64_t left = end - begin;
    if (single_) return {left, 0, 0};
    if (inner_ == 1) {
      const int64_t outer = begin / count_;
      const int64_t i = begin - outer * count_;
      if (block_ == 0) return {std::min(left, count_ - i), i, 1};
      const int64_t block = i / block_;
      return {std::min({left, count_ - i, (block + 1) * block_ - i}), outer * blocks_ + block, 0};
    }
    const int64_t row = begin / inner_;
    const int64_t k = begin - row * inner_;
    const int64_t outer = row / count_;
    const int64_t i = row - outer * count_;
    if (block_ == 0) return {std::min(left, inner_ - k), i, 0};
    return {std::min(left, inner_ - k), (outer * blocks_ + i / block_) * inner_ + k, 1};
  }

 private:
  bool single_ = true;
  int64_t count_ = 1;
  int64_t inner_ = 1;
  int64_t block_ = 0;
  int64_t blocks_ = 1;
};

/// The scales as floats: the tensor's own elements, or converted into scratch memory.
const float* ReadScales(KernelContext& context, const Tensor& scales);

/// One zero point for each of `scale_count` scales; zeros where `zeros` is null. A single one serves all scales. V: float,
/// int32_t.
template <class V>
const V* ReadZeroPoints(KernelContext& context, const Tensor* zeros, ElementType type, int64_t scale_count);

/// Elements that are converted at a time.
inline constexpr int64_t kQuantizedBlock = 1024;

/// Calls body(begin, end) for ranges of at most kQuantizedBlock elements on the pool's threads, none of which share a byte.
template <class Body>
void ForQuantizedBlocks(ThreadPool& threads, int64_t total, double cost_ns, const Body& body) {
  constexpr int64_t kBlock = kQuantizedBlock;
  threads.ParallelFor(CeilDiv(total, kBlock), cost_ns * kBlock, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) body(block * kBlock, std::min(total, (block + 1) * kBlock));
  });
}

}  // namespace tessera::cpu
