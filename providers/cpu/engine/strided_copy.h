#pragma once

// The one engine of data movement: an N-d copy between arbitrary strides. Transpose, Slice, Expand, Tile, SpaceToDepth and
// others describe their result as dimensions with a stride in the source and one in the destination, and run it.

#include <cstdint>

#include "cpu/engine/element.h"
#include "tessera/provider/thread_pool.h"
#include "tessera/value.h"

namespace tessera::cpu {

class StridedCopy {
 public:
  explicit StridedCopy(ElementKind element) : element_(element) {}

  /// Adds a dimension inside of all earlier ones; strides count elements and may be negative, the source's also zero.
  /// Dimensions must come in the order of the destination's strides, largest first. Neighbours that walk memory as one
  /// are merged.
  void Add(int64_t size, int64_t src_stride, int64_t dst_stride);

  /// Moves the elements. `src` and `dst` point to the element with all indices zero; source and destination do not overlap.
  void Run(ThreadPool& threads, const void* src, void* dst) const;

 private:
  // After merging, dimensions of size 1 are gone, so that more than 62 would hold more elements than memory has.
  static constexpr int kMaxRank = 64;

  struct Dim {
    int64_t size, src, dst;  // strides in bytes
  };
  struct Loops;

  void RunRows(ThreadPool& threads, Loops loops, const std::byte* src, std::byte* dst) const;
  void RunTranspose(ThreadPool& threads, Loops loops, int inner, const std::byte* src, std::byte* dst) const;
  void RunStrided(ThreadPool& threads, Loops loops, const std::byte* src, std::byte* dst) const;

  ElementKind element_;
  int rank_ = 0;
  bool empty_ = false;
  Dim dims_[kMaxRank];
};

/// `rows` rows of `bytes` contiguous bytes (whole strings when `strings`), strides in bytes; on the calling thread.
void CopyRows(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows, int64_t bytes,
              bool strings);

/// Copies a contiguous run of elements on several threads.
void CopyParallel(ThreadPool& threads, void* dst, const void* src, int64_t count, ElementKind element);

/// All elements of `from` into `to`, of the same type and shape, unless they share memory: the kernel then changes them in
/// place.
void CopyUnlessInPlace(ThreadPool& threads, const Tensor& from, Tensor& to);

/// Fills a contiguous run of elements on several threads.
void FillParallel(ThreadPool& threads, void* dst, const void* value, int64_t count, ElementKind element);

}  // namespace tessera::cpu
