#pragma once

#include "graph/graph.h"
#include "tessera/session.h"

namespace tessera {

/// Of a graph and all that are nested in it.
ModelSizes SizesOf(const Graph& graph);

}  // namespace tessera
