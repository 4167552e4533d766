#pragma once

#include "kernels/quantize/lookup.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// The 256 results of a function of bytes, looked up by each byte of `x`; `y` has as many, and may be `x`.
inline void LookUp(KernelContext& context, const uint8_t* table, const Tensor& x, Tensor& y) {
  constexpr double kByteNs = 0.3;
  const auto* from = static_cast<const uint8_t*>(x.raw());
  auto* to = static_cast<uint8_t*>(y.mutable_raw());
  context.threads().ParallelFor(x.num_elements(), kByteNs, [&](int64_t begin, int64_t end) {
    LookUpBytes(table, from + begin, end - begin, to + begin);
  });
}

}  // namespace tessera::cpu
