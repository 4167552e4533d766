#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "ops/control_flow/scan.h"

namespace tessera {

/// The sizes that the body of a Loop or Scan declares for its rows. Without an iteration nothing else tells them, so that
/// numbers go before symbols that inference finds; values that go round may change their shapes whatever is declared.
class DeclaredRows {
 public:
  DeclaredRows(const Graph& graph, const Node& node) {
    if (!node.domain.empty() || (node.op_type != "Loop" && node.op_type != "Scan")) return;
    for (const auto& [name, body] : graph.Subgraphs(node.index)) {
      const auto given = static_cast<int64_t>(body->inputs().size());
      // Loop's body takes an iteration and a condition, and gives a condition, beside what goes round.
      const int64_t others = node.op_type == "Loop" ? 1 : ScannedInputs(node);
      for (size_t i = static_cast<size_t>(given - std::clamp<int64_t>(others, 0, given)); i < body->outputs().size(); ++i) {
        GraphValue& value = body->value(body->outputs()[i]);
        if (value.type.shape) declared_.emplace_back(&value.type, *value.type.shape);
      }
    }
  }

  void Restore() const {
    for (const auto& [type, shape] : declared_) {
      if (!type->shape || type->shape->size() != shape.size()) continue;
      for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i].known() && !(*type->shape)[i].known()) (*type->shape)[i] = shape[i];
      }
    }
  }

 private:
  std::vector<std::pair<TypeInfo*, std::vector<Dimension>>> declared_;
};

}  // namespace tessera
