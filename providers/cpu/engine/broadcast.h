#pragma once

// The one engine behind every elementwise operator with more than one input: numpy's broadcasting over any number of
// operands, reduced to calls of a loop over contiguous spans.

#include <cstdint>
#include <span>

#include "tessera/provider/thread_pool.h"
#include "tessera/shape.h"

namespace tessera::cpu {

/// The inner loop of an elementwise operator: `count` results. Input i advances with them when bit i of `advancing` is set,
/// else it stays on its one element. The output may be the same buffer as an advancing input. When count is 1 any bits may
/// be set.
using SpanLoop = void (*)(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void* params);

inline constexpr size_t kMaxOperands = 3;

struct Operand {
  const void* data = nullptr;
  const Shape* shape = nullptr;
  size_t element_size = 0;  // more than 16: not trivially copyable (strings)
};

/// The shape that both broadcast to; throws Error naming them when there is none.
Shape BroadcastShape(const Shape& a, const Shape& b);

/// Whether `from` broadcasts to `to` without growing it.
bool BroadcastsTo(const Shape& from, const Shape& to) noexcept;

/// The shape of B as the opsets before 7 mean it: B's dimensions lie on A's from `axis` on (a suffix when axis is kSuffix).
/// Throws Error when they do not match.
inline constexpr int64_t kSuffix = INT64_MIN;
Shape LegacyBroadcastShape(const Shape& a, const Shape& b, int64_t axis);

/// Runs `loop` over the whole output on the pool's threads. Every operand's shape must broadcast to `output_shape`.
/// `cost_ns` is the time of one element.
void Broadcast(std::span<const Operand> inputs, const Shape& output_shape, void* output, size_t output_element_size,
               SpanLoop loop, const void* params, double cost_ns, ThreadPool& threads);

/// The same where every operand has the output's shape or one element.
void BroadcastFlat(std::span<const Operand> inputs, unsigned advancing, int64_t count, void* output,
                   size_t output_element_size, SpanLoop loop, const void* params, double cost_ns, ThreadPool& threads);

/// Dimensions of a broadcast, merged while all operands agree; group 0 is the innermost.
class BroadcastGroups {
 public:
  static constexpr size_t kMaxGroups = 32;

  BroadcastGroups(std::span<const Operand> inputs, const Shape& output_shape);

  size_t count() const noexcept { return count_; }
  int64_t size(size_t group) const noexcept { return sizes_[group]; }
  /// Bit i: operand i has this dimension; unset: it repeats along it.
  unsigned advancing(size_t group) const noexcept { return advancing_[group]; }
  /// Elements between neighbours of operand `i` along the group; 0 where it repeats.
  int64_t stride(size_t operand, size_t group) const noexcept { return strides_[operand][group]; }

  /// Elements [begin, begin + count) of the output as operand `i` shows them, copied to `buffer`.
  void Gather(const Operand& operand, size_t i, int64_t begin, int64_t count, void* buffer) const;

 private:
  size_t count_ = 0;
  int64_t sizes_[kMaxGroups];
  unsigned advancing_[kMaxGroups];
  int64_t strides_[kMaxOperands][kMaxGroups];
};

}  // namespace tessera::cpu
