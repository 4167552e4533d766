#pragma once

#include "tessera/provider/execution_provider.h"

namespace tessera {

/// Compiles regions of float32 convolutions, matmuls, pooling and what stands between them to oneDNN primitives.
TESSERA_API const ProviderFactory& OnednnProviderFactory();

}  // namespace tessera
