#pragma once

namespace tessera {

class Graph;

/// What a graph from a file that nobody vouches for says of its values' types, beyond what its operators' schemas tell
/// (CheckTypes): throws Error(kInvalidGraph) where inference or a default value gives another kind or element type than is
/// declared, as memory is taken for what is declared. Nested graphs included. The graph stays as it is.
void CheckDeclaredTypes(Graph& graph);

}  // namespace tessera
