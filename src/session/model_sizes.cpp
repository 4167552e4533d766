#include "session/model_sizes.h"

namespace tessera {
namespace {

void Add(const Tensor& weight, ModelSizes& sizes) {
  ++sizes.weights;
  sizes.weight_values += weight.num_elements();
  sizes.weight_bytes += static_cast<int64_t>(weight.byte_size());
}

void Add(const Graph& graph, ModelSizes& sizes) {
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const GraphValue& value = graph.value(static_cast<ValueIndex>(i));
    if (value.constant) Add(*value.constant, sizes);
    if (value.default_value) Add(*value.default_value, sizes);
  }
  for (const NodeIndex node : graph.TopologicalOrder()) {
    ++sizes.nodes;
    for (const auto& [name, nested] : graph.Subgraphs(node)) Add(*nested, sizes);
  }
}

}  // namespace

ModelSizes SizesOf(const Graph& graph) {
  ModelSizes sizes;
  Add(graph, sizes);
  return sizes;
}

}  // namespace tessera
