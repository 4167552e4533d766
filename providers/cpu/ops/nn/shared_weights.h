#pragma once

// Packed constant weights (kernels/gemm/gemm_u8s8.h), made once for all sessions of the process and kept in a context.

#include <functional>
#include <memory>
#include <string_view>

#include "kernels/gemm/gemm_u8s8.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// What `make` makes of a constant by PackWeightsS8; null where it gives null. `key` tells their kind and order.
std::shared_ptr<const PackedWeightsS8> SharedWeights(const KernelInfo& info, const Tensor& constant, std::string_view key,
                                                     const std::function<std::shared_ptr<const PackedWeightsS8>()>& make);

}  // namespace tessera::cpu
