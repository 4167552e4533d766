#pragma once

// What is known of the model's own nodes, as bytes.

#include "base/byte_stream.h"
#include "graph/graph.h"

namespace tessera {

/// None where nobody follows the graph's nodes.
void WriteProvenance(const Graph& graph, ByteWriter& out);

/// For a graph that is still to be read: its nodes name them by number. Throws Error where the bytes are damaged.
void ReadProvenance(ByteReader& in, Graph& graph);

}  // namespace tessera
