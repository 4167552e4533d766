#include "opencl/lowering/lowering.h"

#include <array>

#include "lowering/lowering.h"

namespace tessera {
namespace {

constexpr std::array kLowering = {
    // In turn with the portable passes, to which they leave operators that nobody reads any more, and Reshapes and
    // Transposes around heads to join.
    RewriteEntry{"fuse_quantized_lookup", OptimizationLevel::kExtended, FuseQuantizedLookup},
    RewriteEntry{"recognize_broadcast_attention", OptimizationLevel::kExtended, RecognizeBroadcastAttention},
};

}  // namespace

std::span<const RewriteEntry> OpenclLowering() { return kLowering; }

}  // namespace tessera
