#pragma once

#include "tessera/provider/graph.h"

namespace tessera {

/// The output that a node without a name goes by: the first that something reads, as a model that leaves an output out has
/// no name for it; else the first of all. kNone: it has none. `graph`: a Graph or a GraphViewer.
template <class G>
ValueIndex TellingOutput(const G& graph, const Node& node) {
  ValueIndex first = kNone;
  for (const ValueIndex output : node.outputs) {
    if (output == kNone) continue;
    const GraphValue& value = graph.value(output);
    if (value.is_output || !value.consumers.empty()) return output;
    if (first == kNone) first = output;
  }
  return first;
}

}  // namespace tessera
