#pragma once

// The passes that rewrite what the OpenCL provider was assigned into operators of ai.tessera.

#include <span>

#include "optimizer/rewrites.h"

namespace tessera {

/// In order; those before the `last` ones leave work to the portable passes, which run again where they changed something.
std::span<const RewriteEntry> OpenclLowering();

}  // namespace tessera
