#pragma once

// What the operators of domain ai.tessera, which block_channels puts into graphs, share. Their values are [N, C/8, H, W, 8].

#include "base/window.h"
#include "simd/blocked.h"
#include "tessera/kernel.h"

namespace tessera::cpu {

inline KernelDef BlockedOp(std::string op_type) { return Op(std::move(op_type), "ai.tessera").Types(0, {ElementType::kFloat}); }

/// Throws Error unless the tensor is in blocks.
inline void RequireBlocked(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  Require(tensor.is(ElementType::kFloat) && shape.rank() == 5 && shape[4] == kChannelBlock,
          "the input is {}, floats in blocks of {} channels are expected", shape, kChannelBlock);
}

inline BlockedWindow ToBlockedWindow(const Window& window) {
  return {window.input[0],   window.input[1],   window.output[0],    window.output[1],    window.kernel[0], window.kernel[1],
          window.strides[0], window.strides[1], window.dilations[0], window.dilations[1], window.begin[0],  window.begin[1]};
}

/// The output of a window over `blocks` blocks of channels.
inline Shape BlockedShape(int64_t batch, int64_t blocks, const Window& window) {
  return {batch, blocks, window.output[0], window.output[1], kChannelBlock};
}

}  // namespace tessera::cpu
