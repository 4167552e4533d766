#pragma once

// Packed constant weights (kernels/gemm/gemm_u8s8.h), made once for all sessions of the process and kept in a context.

#include <functional>
#include <memory>
#include <string_view>

#include "kernels/gemm/gemm_u8s8.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// What PackWeightsS8 is asked for: so many output channels of so many weights, laid out for a side.
struct PackedKind {
  int64_t n, k;
  PanelLayout side;
};

/// What `make` makes of a constant by PackWeightsS8; null where it gives null. `key` tells their kind and order. Throws
/// Error where a context holds them, and they are not of `kind`.
std::shared_ptr<const PackedWeightsS8> SharedWeights(const KernelInfo& info, const Tensor& constant, std::string_view key,
                                                     const PackedKind& kind,
                                                     const std::function<std::shared_ptr<const PackedWeightsS8>()>& make);

}  // namespace tessera::cpu
