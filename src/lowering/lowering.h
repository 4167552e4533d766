#pragma once

// Passes that make operators of ai.tessera for which several providers have kernels. No portable pass: each of these
// providers has them in its own table (ProviderFactory::lowering), and they rewrite only what it was assigned.

#include <memory>

#include "optimizer/rewrite.h"

namespace tessera {

// Each in the file of its name.
std::unique_ptr<Rewrite> FuseQuantizedLookup();
std::unique_ptr<Rewrite> RecognizeBroadcastAttention();

}  // namespace tessera
