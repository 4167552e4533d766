#pragma once

#include <optional>

#include "graph/graph.h"

namespace tessera {

/// What a Slice or a Split takes out of each row, the last dimension, of a value.
struct RowPart {
  ValueIndex source = kNone;
  int64_t begin = 0, end = 0;
  int64_t size = 0;  // of the source's rows
};

std::optional<RowPart> RowPartOf(const Graph& graph, ValueIndex value);

/// Concat that puts rows one behind the other.
bool JoinsRows(const Graph& graph, const Node& concat);

}  // namespace tessera
