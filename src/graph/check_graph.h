#pragma once

#include <string>

namespace tessera {

class Graph;

/// What is wrong with a graph that rewrites have left: what it keeps twice (producers, consumers, borders, captures, names)
/// is not the same, a node reads what nobody makes, nodes form a cycle, or an element type is none that a schema allows.
/// Empty: nothing. Nested graphs included. A fault is one of the pass that ran last, or of the context that the graph was
/// read from, never of a model. Throws Error where the graph's limits stop the load.
/// Attributes that a schema does not know are one of private operators alone: a model may bring such, of which the load
/// warns.
std::string FindFault(const Graph& graph);

/// What a node has that its schema does not know: an attribute, or more inputs or outputs. Empty: none has. Nested graphs
/// included. Of a model that has nothing of the kind, rewrites leave nothing of it.
std::string FindBeyondSchemas(const Graph& graph);

}  // namespace tessera
