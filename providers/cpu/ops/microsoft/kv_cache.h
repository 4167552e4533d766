#pragma once

// Caches of keys and values, [batch, heads, capacity, width]: numbers, or quantized values of 8 or 4 bits.

#include "cpu/ops/attention/attention_problem.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Rows of [batch, head, row, width], as many as there are new tokens.
struct NewRows {
  Heads<const float> at;
  int64_t batch, heads, rows, width;
};

/// How a cache's elements stand for numbers: by themselves, or as quantized value * scale, where quantized values are int8
/// or, of 4 bits, uint8 that hold two (the lower first), each with 8 added.
struct CacheEncoding {
  int bits = 0;  // 0: numbers of the cache's type
  const float* scales = nullptr;
  const float* zeros = nullptr;
  int64_t step = 0;  // 1: a scale for each head's elements, 0: one for all; zeros likewise

  bool exist() const { return bits != 0; }
  ElementType type() const { return bits == 4 ? ElementType::kUInt8 : ElementType::kInt8; }
  /// Of a row of `width` numbers.
  int64_t RowElements(int64_t width) const { return bits == 4 ? (width + 1) / 2 : width; }
};

/// The quantized values of `heads` heads of `width` whose scales are `scales`; throws Error unless these are one, or one
/// for each of the heads' elements.
CacheEncoding EncodingWith(KernelContext& context, int bits, const Tensor* scales, bool by_channel, int64_t heads,
                           int64_t width);

/// What becomes of a cache's rows behind the new ones, where it is not the past's own memory.
enum class CacheRest { kZero, kAsBefore };

/// Writes a cache: past_rows[b] rows of `past` (which may be the cache itself), then the new ones. For kAsBefore the past
/// has as many rows as the cache.
void WriteCache(ThreadPool& threads, const Tensor* past, const int64_t* past_rows, const NewRows& current, int64_t capacity,
                Tensor& cache, const CacheEncoding& encoding = {}, CacheRest rest = CacheRest::kZero);

/// A cache as attention reads it, its first `rows` rows.
Heads<const float> ReadCache(KernelContext& context, const Tensor& cache, int64_t heads, int64_t capacity, int64_t width,
                             int64_t rows, const CacheEncoding& encoding = {});

}  // namespace tessera::cpu
