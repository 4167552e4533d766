#pragma once

// Quantized matrices in the form of com.microsoft's MatMulNBits.

#include <optional>

#include "graph/graph.h"
#include "runtime/resources.h"
#include "tessera/provider/thread_pool.h"

namespace tessera {

/// What a DequantizeLinear of constants reads.
struct QuantizedMatrix {
  const Tensor* values = nullptr;  // [k, n]; `transposed`: [n, k]
  const Tensor* scales = nullptr;
  const Tensor* zeros = nullptr;  // may be null
  int64_t axis = 1;               // of the scales
  int64_t block_size = 0;         // 0: one scale for the tensor, or one for each index of the axis
  bool transposed = false;
};

/// Inputs B, scales and zero_points of MatMulNBits, and its attributes.
struct NBitsMatrix {
  int64_t k = 0, n = 0, bits = 0, block_size = 0;
  Tensor values;  // [n, blocks, block_size * bits / 8]
  Tensor scales;  // [n, blocks]
  Tensor zeros;   // [n, bytes of blocks]; undefined where all are 2^(bits - 1)
};

/// Nothing where that form does not fit: scales that change along n more often than for each column, or along k in blocks
/// that are no multiple of 16; other types than integers of 2, 4 and 8 bits; inconsistent shapes. `scale_type` is what the
/// scales become: their own type, or float.
std::optional<NBitsMatrix> ToNBits(const QuantizedMatrix& matrix, ElementType scale_type,
                                   const SessionResources& resources);

/// Float weights [k, n] (`transposed`: [n, k]) quantized to 8 bits, with a scale for each block of at most 64.
/// Nothing where some are not finite.
std::optional<NBitsMatrix> QuantizeToNBits(const Tensor& weights, bool transposed, const SessionResources& resources);

/// The largest block of MatMulNBits, up to 256, that divides one of `given` numbers and pads little; 0 when there is none.
int64_t NBitsBlockSize(int64_t given, int64_t k);

}  // namespace tessera
