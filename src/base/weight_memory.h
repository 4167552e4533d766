#pragma once

#include "tessera/memory.h"

namespace tessera {

/// Host memory for forms of weights: written at once, kept as long as a session. Lays one behind the other in huge pages,
/// because touching a new page costs several times what writing to it does.
Allocator& WeightMemory();

}  // namespace tessera
