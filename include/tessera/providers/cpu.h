#pragma once

#include "tessera/provider/execution_provider.h"

namespace tessera {

/// Runs every ONNX operator on the host; the fallback of every session.
TESSERA_API const ProviderFactory& CpuProviderFactory();

}  // namespace tessera
