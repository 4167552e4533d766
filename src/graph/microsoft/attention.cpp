// Attention.

#include "graph/microsoft/define.h"

namespace tessera {

void AddAttentionSchemas(MicrosoftSchemas&) {}

}  // namespace tessera
