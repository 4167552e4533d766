// Tensor.

#include "graph/microsoft/define.h"

namespace tessera {

void AddTensorSchemas(MicrosoftSchemas&) {}

}  // namespace tessera
