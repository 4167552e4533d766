#pragma once

// Scales and zero points of quantized tensors as numbers, and loops over their elements.

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"
#include "ops/quantization/quantize_linear.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// What QuantizeLinear and DequantizeLinear read: elements of `type`, and what they are scaled and shifted by.
struct QuantizationInputs {
  QuantizationInputs(KernelContext& context, ElementType type, const QuantizeLinearAttributes& attributes);

  const Tensor& x;
  const Tensor& scale;
  const Tensor* zero;  // may be null
  const QuantizationLayout layout;
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
