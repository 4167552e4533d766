#include "opencl/lowering/lowering.h"

#include <array>

#include "optimizer/lower/lower.h"

namespace tessera {
namespace {

constexpr std::array kLowering = {
    // In turn with the portable passes, which join the Reshapes and Transposes that it leaves around heads.
    RewriteEntry{"recognize_broadcast_attention", OptimizationLevel::kExtended, RecognizeBroadcastAttention},
};

}  // namespace

std::span<const RewriteEntry> OpenclLowering() { return kLowering; }

}  // namespace tessera
