#pragma once

#include <string>

namespace tessera {

class Graph;

/// What is wrong with a graph that rewrites have left: what it keeps twice (producers, consumers, borders, captures, names)
/// is not the same, a node reads what nobody makes, nodes form a cycle, or an element type is none that a schema allows.
/// Empty: nothing. Nested graphs included. A fault is one of the pass that ran last, never of a model.
std::string FindFault(const Graph& graph);

}  // namespace tessera
