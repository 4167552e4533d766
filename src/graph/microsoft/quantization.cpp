// Quantization.

#include "graph/microsoft/define.h"

namespace tessera {

void AddQuantizationSchemas(MicrosoftSchemas&) {}

}  // namespace tessera
