#include "graph/check_declared_types.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "graph/graph.h"
#include "graph/infer_types.h"

namespace tessera {
namespace {

template <class Visit>
void ForEachValue(Graph& graph, const Visit& visit) {
  for (size_t i = 0; i < graph.num_values(); ++i) visit(graph.value(static_cast<ValueIndex>(i)));
  for (const NodeIndex index : graph.TopologicalOrder()) {
    for (const auto& [name, nested] : graph.Subgraphs(index)) ForEachValue(*nested, visit);
  }
}

/// The types of a graph's values, which are as they were when it goes.
class KeptTypes {
 public:
  explicit KeptTypes(Graph& graph) : graph_(graph) {
    ForEachValue(graph_, [&](const GraphValue& value) { types_.push_back(value.type); });
  }
  ~KeptTypes() {
    size_t next = 0;
    ForEachValue(graph_, [&](GraphValue& value) { value.type = std::move(types_[next++]); });
  }
  KeptTypes(const KeptTypes&) = delete;
  KeptTypes& operator=(const KeptTypes&) = delete;

 private:
  Graph& graph_;
  std::vector<TypeInfo> types_;
};

}  // namespace

void CheckDeclaredTypes(Graph& graph) {
  ForEachValue(graph, [](const GraphValue& value) {
    if (!value.default_value) return;
    Require(value.type.is_tensor() && value.type.element == value.default_value->type(), "'{}' is {}, its default is {}",
            value.name, value.type.ToString(), ElementTypeName(value.default_value->type()));
  });
  const KeptTypes kept(graph);
  InferTypes(graph);
}

}  // namespace tessera
