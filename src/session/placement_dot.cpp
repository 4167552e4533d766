// The placement as a Graphviz drawing of the main graph; nested graphs count as their node.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "tessera/printable.h"
#include "tessera/session.h"

namespace tessera {
namespace {

/// Text for a double-quoted string of the DOT language.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Fill colours for providers in the order of the report; more providers than colours share the last.
constexpr std::string_view kColours[] = {"#f4b183", "#9dc3e6", "#e2e2e2", "#c5e0b4", "#ffe699"};

/// What it is, and below that the model's nodes that it computes where these are others.
std::string LabelOf(const PlacementReport::NodeEntry& node, const PlacementReport& report) {
  constexpr size_t kMost = 4;
  std::string label = Escaped(node.op_type);
  if (node.model_nodes.size() < 2) return label;
  label += "\\n";
  for (size_t i = 0; i < std::min(node.model_nodes.size(), kMost); ++i) {
    label += (i == 0 ? "" : " + ") + Escaped(report.model_nodes[node.model_nodes[i]].op_type);
  }
  return node.model_nodes.size() <= kMost ? label : label + fmt::format(" + {} more", node.model_nodes.size() - kMost);
}

/// Names of the model's nodes, which drawings show on the way over them.
std::string TooltipOf(const PlacementReport::NodeEntry& node, const PlacementReport& report) {
  std::string tooltip;
  for (const size_t of_model : node.model_nodes) {
    if (tooltip.size() > 500) return tooltip + ", ...";
    tooltip += (tooltip.empty() ? "" : ", ") + Escaped(report.model_nodes[of_model].Label());
  }
  return tooltip;
}

}  // namespace

std::string PlacementReport::ToDot() const {
  std::string dot =
      "digraph placement {\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=11];\n";
  std::map<std::string, std::string_view, std::less<>> colours;
  for (const ProviderEntry& provider : providers) {
    colours.emplace(provider.name, kColours[std::min(colours.size(), std::size(kColours) - 1)]);
    if (provider.nodes == 0) continue;
    dot += fmt::format("  \"{}\" [shape=plaintext, style=filled, fillcolor=\"{}\", label=\"{}: {} nodes\"];\n",
                       Escaped(provider.name), colours[provider.name], Escaped(provider.name), provider.nodes);
  }

  std::map<std::string, size_t, std::less<>> producers;
  std::map<std::string, std::string, std::less<>> regions;  // fused node, its members
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].graph.empty()) continue;
    for (const std::string& output : nodes[i].outputs) producers.emplace(output, i);
    const std::string line =
        fmt::format("n{} [label=\"{}\", tooltip=\"{}\", fillcolor=\"{}\"];", i, LabelOf(nodes[i], *this),
                    TooltipOf(nodes[i], *this), colours.contains(nodes[i].provider) ? colours[nodes[i].provider] : "white");
    if (nodes[i].fused_into.empty()) {
      dot += "  " + line + "\n";
    } else {
      regions[nodes[i].fused_into] += "    " + line + "\n";
    }
  }
  size_t region = 0;
  for (const auto& [name, members] : regions) {
    dot += fmt::format(
        "  subgraph cluster_{} {{\n    label=\"{}\"; style=rounded; fontname=\"sans-serif\"; fontsize=10;\n{}  }}\n",
        region++, Escaped(name), members);
  }

  std::map<std::string, const CopyEntry*, std::less<>> copied;
  for (const CopyEntry& copy : copies) copied.emplace(copy.value, &copy);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].graph.empty()) continue;
    for (const std::string& input : nodes[i].inputs) {
      const auto producer = producers.find(input);
      if (input.empty() || producer == producers.end()) continue;
      const auto copy = copied.find(input);
      const bool crosses = copy != copied.end() && nodes[producer->second].provider != nodes[i].provider;
      dot += crosses ? fmt::format("  n{} -> n{} [label=\"{} to {}\", color=red, fontsize=9];\n", producer->second, i,
                                   copy->second->from, copy->second->to)
                     : fmt::format("  n{} -> n{};\n", producer->second, i);
    }
  }
  return dot + "}\n";
}

}  // namespace tessera
