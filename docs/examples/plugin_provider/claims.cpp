#include "claims.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>

#include "graph.h"
#include "onnx_writer.h"

namespace teaching {
namespace {

/// Whether a node is free: another provider, before ours in the session's list, may have taken it.
bool IsFree(const Api& api, const OrtNode& node) {
  const char* provider = nullptr;
  api.Check(api->Node_GetEpName(&node, &provider));
  return provider == nullptr || *provider == '\0';
}

/// Whether the registry has a kernel for the node: the runtime compares operator, version and types.
bool HasKernel(const Api& api, OrtEpGraphSupportInfo& support, const OrtNode& node) {
  const OrtKernelDef* kernel = nullptr;
  api.Check(api.ep()->EpGraphSupportInfo_LookUpKernel(&support, &node, &kernel));
  return kernel != nullptr;
}

/// Whether the graph is inside a node: a branch of an If, the body of a Loop.
bool IsNested(const Api& api, const OrtGraph& graph) {
  const OrtNode* around = nullptr;
  api.Check(api->Graph_GetParentNode(&graph, &around));
  return around != nullptr;
}

bool AreWritable(const Api& api, const std::vector<const OrtValueInfo*>& values) {
  return std::all_of(values.begin(), values.end(), [&](const OrtValueInfo* value) {
    return NameOf(api, value).empty() || IsWritable(TensorTypeOf(api, *value).element);
  });
}

/// Whether anybody reads what the node computes. A group of nodes that nobody reads would be compiled to nothing: the last
/// of them is left to whoever keeps such nodes, and so every group has an output.
bool IsRead(const Api& api, const OrtNode& node) {
  for (const OrtValueInfo* output : OutputsOf(api, node)) {
    if (NameOf(api, output).empty()) continue;
    bool of_graph = false;
    api.Check(api->ValueInfo_IsGraphOutput(output, &of_graph));
    size_t readers = 0;
    api.Check(api->ValueInfo_GetValueNumConsumers(output, &readers));
    if (of_graph || readers > 0) return true;
  }
  return false;
}

/// Whether the compiler takes the node: here an operator of ONNX's own, on tensors of numbers, without graphs inside. Your
/// engine's list of operators belongs here: a node that is claimed and then cannot be compiled costs the whole group.
bool CanCompile(const Api& api, const OrtNode& node) {
  if (!DomainOf(api, node).empty()) return false;
  size_t nested = 0;
  api.Check(api->Node_GetNumSubgraphs(&node, &nested));
  if (nested > 0) return false;
  for (const OrtOpAttr* attribute : AttributesOf(api, node)) {
    if (!IsWritable(api, *attribute)) return false;
  }
  return AreWritable(api, InputsOf(api, node)) && AreWritable(api, OutputsOf(api, node));
}

/// For each node those of the graph whose results it reads, itself or by the graphs inside it.
std::vector<std::vector<size_t>> SourcesOf(const Api& api, const std::vector<const OrtNode*>& nodes) {
  std::vector<std::vector<size_t>> sources(nodes.size());
  std::unordered_map<std::string, size_t> producers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<const OrtValueInfo*> read = InputsOf(api, *nodes[i]);
    const std::vector<const OrtValueInfo*> implicit = ImplicitInputsOf(api, *nodes[i]);
    read.insert(read.end(), implicit.begin(), implicit.end());
    for (const OrtValueInfo* value : read) {
      const auto producer = producers.find(NameOf(api, value));
      if (producer != producers.end()) sources[i].push_back(producer->second);
    }
    for (const OrtValueInfo* value : OutputsOf(api, *nodes[i])) {
      const std::string name = NameOf(api, value);
      if (!name.empty()) producers.emplace(name, i);
    }
  }
  return sources;
}

}  // namespace

Claims ClaimsOf(const Api& api, const OrtGraph& graph, OrtEpGraphSupportInfo& support, bool with_kernels,
                bool with_compiler) {
  Claims claims;
  const std::vector<const OrtNode*> nodes = NodesOf(api, graph);  // in an order in which they can run
  // Nested graphs are left to the kernels: ONNX Runtime 1.31 cannot compile in those that come out of a function's body.
  with_compiler = with_compiler && !IsNested(api, graph);
  std::vector<bool> compiled(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!IsFree(api, *nodes[i])) continue;
    if (with_kernels && HasKernel(api, support, *nodes[i])) {
      claims.single.push_back(nodes[i]);
    } else {
      compiled[i] = with_compiler && CanCompile(api, *nodes[i]) && IsRead(api, *nodes[i]);
    }
  }
  for (const std::vector<size_t>& members : Group(SourcesOf(api, nodes), compiled)) {
    std::vector<const OrtNode*>& group = claims.groups.emplace_back();
    for (const size_t i : members) group.push_back(nodes[i]);
  }
  return claims;
}

std::vector<std::vector<size_t>> Group(const std::vector<std::vector<size_t>>& sources, const std::vector<bool>& wanted) {
  // A node's level: how often, at most, a path to it has gone from a wanted node to one that is not. Along a path levels
  // never fall, and a path that leaves the wanted nodes rises for good: it cannot come back to the level that it left.
  std::vector<size_t> level(sources.size());
  for (size_t node = 0; node < sources.size(); ++node) {
    for (const size_t source : sources[node]) {
      const bool leaves = wanted[source] && !wanted[node];
      level[node] = std::max(level[node], level[source] + (leaves ? 1 : 0));
    }
  }

  // Wanted nodes of one level that are joined by an edge are of one group. Each node points to another of its group, and at
  // last to the one that stands for it.
  std::vector<size_t> leader(sources.size());
  std::iota(leader.begin(), leader.end(), 0);
  const auto leader_of = [&](size_t node) {
    while (leader[node] != node) node = leader[node] = leader[leader[node]];
    return node;
  };
  for (size_t node = 0; node < sources.size(); ++node) {
    for (const size_t source : sources[node]) {
      if (wanted[node] && wanted[source] && level[node] == level[source]) leader[leader_of(node)] = leader_of(source);
    }
  }

  std::vector<std::vector<size_t>> groups;
  std::unordered_map<size_t, size_t> group_of;  // by leader
  for (size_t node = 0; node < sources.size(); ++node) {
    if (!wanted[node]) continue;
    const auto [found, is_new] = group_of.emplace(leader_of(node), groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(node);
  }
  return groups;
}

}  // namespace teaching
