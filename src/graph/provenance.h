#pragma once

// What becomes of the model's own nodes while passes and providers rewrite the graph, so that reports can speak of them.
//
// Each node of a graph has the origin (NodeOrigin) of the model's node that it stands for: Graph::AddNode takes it from the
// node that it replaces, is a copy of, or stands beside. A node of the model that has none of its own any
// more went into another, into constants, or was not needed; the values that the nodes taken out read and wrote tell which,
// after each pass. It costs no more than the edits themselves.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace tessera {

/// Of a node of the model when no node of the graph stands for it any more.
enum class NodeFate : uint8_t { kNone, kFused, kFolded, kRemoved, kEnd };

class Provenance {
 public:
  /// A node as the model's file has it.
  struct Origin {
    int32_t graph = 0;  // among graphs()
    int32_t since_version = 0;
    std::string name, op_type, domain;
    std::string output;    // name of its first output
    int32_t into = kNone;  // for kFused: the node of the model that it went into
    NodeFate fate = NodeFate::kNone;
    bool certain = false;  // a later pass that sees less does not know better
    uint16_t pass = 0;     // among passes(): what settled it
  };

  struct Nested {
    std::string path;        // as reports have it, "" for the main one
    int32_t holder = kNone;  // the node that holds it
  };

  /// Gives the nodes of a graph as it was loaded, and of those nested in it, their origins, in the order of the file.
  static void Follow(Graph& graph);

  /// Finds out what the pass that has just run on the graph did with the nodes that it took out.
  void Settle(Graph& graph, std::string_view pass);

  const std::vector<Origin>& origins() const noexcept { return origins_; }
  /// The main graph, then nested ones.
  const std::vector<Nested>& graphs() const noexcept { return graphs_; }
  const std::vector<std::string>& passes() const noexcept { return passes_; }

  /// As a context keeps it.
  void Restore(std::vector<Origin> origins, std::vector<Nested> graphs, std::vector<std::string> passes);

 private:
  class Settlement;
  void Number(Graph& graph, const std::string& path, int32_t holder);
  uint16_t PassNumber(std::string_view pass);

  std::vector<Origin> origins_;
  std::vector<Nested> graphs_;
  std::vector<std::string> passes_;
};

/// How a nested graph of a node is called in reports.
std::string PathOfNested(const std::string& path, const Node& holder, const GraphViewer& graph, std::string_view attribute);

}  // namespace tessera
