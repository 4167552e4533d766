#pragma once

#include <span>

#include "session/session_state.h"

namespace tessera {

/// Throws Error naming both when a buffer that the caller gives for a result overlaps an input or another result, unless
/// the run reads the input before it writes there. `slots`: where the results are taken from, by wanted output.
void CheckResultBuffers(const LoadedModel& model, const Session::State::Request& request, std::span<const SlotIndex> slots);

}  // namespace tessera
