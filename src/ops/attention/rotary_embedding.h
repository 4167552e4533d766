#pragma once

// RotaryEmbedding of ai.onnx (23) and of com.microsoft (1).

#include <cstdint>

#include "tessera/provider/graph.h"
#include "tessera/value.h"

namespace tessera {

/// X as [batch, heads, steps, width] or [batch, steps, heads * width], of whose heads the first 2 * half elements are
/// rotated.
struct RotarySizes {
  int64_t batch, heads, steps, width, half;
  int64_t positions;  // rows of the caches
  bool packed;
  bool one;  // one position, of the first step
};

struct RotaryEmbeddingAttributes {
  explicit RotaryEmbeddingAttributes(const Node& node);

  /// The inputs of com.microsoft are in another order.
  size_t positions_input() const { return microsoft ? 1 : 3; }
  size_t cosine_input() const { return microsoft ? 2 : 1; }
  size_t sine_input() const { return microsoft ? 3 : 2; }

  /// Throws Error where shapes do not fit, or a position is outside of the caches. `positions`, in host memory, is null
  /// where the caches have a row for each token.
  RotarySizes Infer(const Shape& x, const Shape& cosine, const Shape& sine, const Tensor* positions) const;

  bool microsoft;
  bool interleaved;
  int64_t rotary_dim;  // elements of each head that are rotated; 0: as the caches say
  int64_t heads;
  float scale;  // of com.microsoft alone

 private:
  int64_t Width(const Shape& x, bool packed, int64_t hidden, int64_t half) const;
};

}  // namespace tessera
