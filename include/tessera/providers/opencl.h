#pragma once

#include "tessera/provider/execution_provider.h"

namespace tessera {

/// Runs operators on an OpenCL 1.2 device; values between them stay in its memory.
TESSERA_API const ProviderFactory& OpenclProviderFactory();

}  // namespace tessera
