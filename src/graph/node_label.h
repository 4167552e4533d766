#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace tessera {

/// "Conv 'conv1'" or, without a name, "Conv -> 'output0'"; long names are shortened.
std::string NodeLabel(std::string_view domain, std::string_view op_type, std::string_view name, std::string_view output);

/// How errors call a node of the graph, or one that stands for what a provider compiles of it: by the model's own node,
/// where the operator is one that only Tessera's passes write.
std::string ModelLabel(const Graph& graph, const Node& node);

}  // namespace tessera
