#pragma once

#include <optional>

#include "graph/graph.h"

namespace tessera {

/// What a Slice or a Split reads of each row, the last dimension, of a value.
struct RowPart {
  ValueIndex source = kNone;
  int64_t begin = 0, end = 0;
  int64_t size = 0;  // of the source's rows
};

std::optional<RowPart> RowPartOf(const Graph& graph, ValueIndex value);

/// Every second element of each row of `source`, from the first (0) or the second (1) on.
struct RowAlternation {
  ValueIndex source = kNone;
  int64_t first = 0;
  int64_t size = 0;  // of the source's rows
};

/// What a Slice with step 2 reads, or a Gather or Split and Squeeze of rows that were reshaped to pairs.
std::optional<RowAlternation> RowAlternationOf(const Graph& graph, ValueIndex value);

/// Whether a Reshape only parts rows into pairs.
bool PartsPairs(const Graph& graph, const Node& reshape);

/// Whether a Reshape only puts the pairs of the last dimension behind one another.
bool JoinsPairs(const Graph& graph, const Node& reshape);

/// Concat that puts rows one behind the other.
bool JoinsRows(const Graph& graph, const Node& concat);

}  // namespace tessera
