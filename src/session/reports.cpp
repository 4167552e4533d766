// Both reports of a session in one file: JSON takes most of its build.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graph/node_label.h"
#include "runtime/threads/float_mode.h"
#include "tessera/printable.h"
#include "tessera/session.h"

namespace tessera {

namespace {

using Json = nlohmann::ordered_json;

template <class Entry>
std::string TypeOf(const Entry& node) {
  return node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
}

class PlacementText {
 public:
  explicit PlacementText(const PlacementReport& report) : report_(report), listed_(report.nodes.size()) {}

  std::string Write() {
    for (const PlacementReport::ProviderEntry& entry : report_.providers) WriteProvider(entry);
    for (const PlacementReport::ModelNode& node : report_.model_nodes) WriteModelNode(node);
    for (size_t i = 0; i < report_.nodes.size(); ++i) {
      if (!listed_[i]) WriteInserted(report_.nodes[i]);
    }
    for (const PlacementReport::CopyEntry& copy : report_.copies)
      Line("  copy {}'{}': {} to {}", copy.graph, copy.value, copy.from, copy.to);
    return std::move(text_);
  }

 private:
  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += Printable(fmt::format(format, std::forward<Args>(args)...)) + "\n";
  }

  void WriteProvider(const PlacementReport::ProviderEntry& entry) {
    if (entry.status != "active") return Line("{}: skipped: {}", entry.name, entry.status);
    const std::string runs = entry.nodes == entry.model_nodes
                                 ? fmt::format("{} nodes", entry.nodes)
                                 : fmt::format("{} nodes of the model in {} that run", entry.model_nodes, entry.nodes);
    Line("{}: {}{}{}", entry.name, runs, entry.device.empty() ? "" : " on ", entry.device);
  }

  void WriteModelNode(const PlacementReport::ModelNode& node) {
    Line("  {}{} (version {}): {}", node.graph, node.Label(), node.since_version, FateOf(node));
    for (const auto& [provider, reason] : node.refusals) Line("      {}: {}", provider, reason);
  }

  std::string FateOf(const PlacementReport::ModelNode& node) {
    const std::string by = node.pass.empty() ? "" : " by " + node.pass;
    if (node.fate == PlacementReport::Fate::kFolded) return "folded" + by;
    if (node.fate == PlacementReport::Fate::kRemoved) return "removed" + by;
    if (node.fate == PlacementReport::Fate::kFused)
      return fmt::format("{}, fused into {}{}", node.provider, report_.model_nodes[node.fused_into].Label(), by);
    const PlacementReport::NodeEntry& first = report_.nodes[node.runs_in.front()];
    std::string types, precision;
    for (const size_t i : node.runs_in) {
      listed_[i] = true;
      types += (types.empty() ? "" : ", ") + TypeOf(report_.nodes[i]);
      if (precision.empty()) precision = report_.nodes[i].precision;
    }
    return fmt::format("{}{}{}{}", node.provider, types == TypeOf(node) ? "" : " as " + types,
                       first.fused_into.empty() ? "" : " in " + first.fused_into,
                       precision.empty() ? "" : ", at " + precision);
  }

  void WriteInserted(const PlacementReport::NodeEntry& node) {
    const std::string beside =
        node.model_nodes.empty() ? "" : " beside " + report_.model_nodes[node.model_nodes.front()].Label();
    Line("  inserted: {}{} -> '{}'{}: {}{}", node.graph, TypeOf(node), node.outputs.empty() ? "" : node.outputs.front(),
         beside, node.provider, node.fused_into.empty() ? "" : " in " + node.fused_into);
  }

  const PlacementReport& report_;
  std::vector<bool> listed_;  // by node that runs
  std::string text_;
};

Json ToJsonObject(const PlacementReport::Refusals& refusals) {
  Json json = Json::array();
  for (const auto& [provider, reason] : refusals) json.push_back({{"provider", provider}, {"reason", reason}});
  return json;
}

Json ToJsonObject(const PlacementReport::ModelNode& node) {
  static constexpr std::string_view kFates[] = {"runs", "fused", "folded", "removed"};
  const bool fused = node.fate == PlacementReport::Fate::kFused;
  return {{"graph", node.graph},
          {"name", node.name},
          {"op_type", node.op_type},
          {"domain", node.domain},
          {"since_version", node.since_version},
          {"output", node.output},
          {"provider", node.provider},
          {"fate", kFates[static_cast<size_t>(node.fate)]},
          {"pass", node.pass},
          {"fused_into", fused ? Json(node.fused_into) : Json(nullptr)},
          {"runs_in", node.runs_in},
          {"refusals", ToJsonObject(node.refusals)}};
}

Json ToJsonObject(const PlacementReport::NodeEntry& node) {
  return {{"graph", node.graph},
          {"name", node.name},
          {"op_type", node.op_type},
          {"domain", node.domain},
          {"since_version", node.since_version},
          {"provider", node.provider},
          {"fused_into", node.fused_into},
          {"precision", node.precision},
          {"inputs", node.inputs},
          {"outputs", node.outputs},
          {"model_nodes", node.model_nodes},
          {"inserted", node.inserted},
          {"refusals", ToJsonObject(node.refusals)}};
}

}  // namespace

std::string PlacementReport::ModelNode::Label() const { return NodeLabel(domain, op_type, name, output); }

std::string PlacementReport::ToText() const { return PlacementText(*this).Write(); }

std::string PlacementReport::ToJson() const {
  Json json;
  json["providers"] = Json::array();
  for (const ProviderEntry& entry : providers) {
    json["providers"].push_back(
        {{"name", entry.name}, {"status", entry.status}, {"nodes", entry.nodes}, {"model_nodes", entry.model_nodes}});
    if (!entry.device.empty()) json["providers"].back()["device"] = entry.device;
  }
  json["model_nodes"] = Json::array();
  for (const ModelNode& node : model_nodes) json["model_nodes"].push_back(ToJsonObject(node));
  json["nodes"] = Json::array();
  for (const NodeEntry& node : nodes) json["nodes"].push_back(ToJsonObject(node));
  json["copies"] = Json::array();
  for (const CopyEntry& copy : copies) {
    json["copies"].push_back({{"graph", copy.graph}, {"value", copy.value}, {"from", copy.from}, {"to", copy.to}});
  }
  // Names come from models and may hold any bytes.
  return PrintableJson(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

std::string OptimizationReport::ToText() const {
  const CallersFloatMode float_mode;
  std::string text = fmt::format("optimizer: {} nodes -> {} in {} rounds\n", nodes_before, nodes_after, rounds);
  size_t idle = 0;
  double idle_milliseconds = 0;
  for (const Pass& pass : passes) {
    if (pass.changes == 0) {
      ++idle;
      idle_milliseconds += pass.milliseconds;
      continue;
    }
    text += fmt::format("  {:<32} {:>7} changes {:>9.2f} ms\n", pass.name, pass.changes, pass.milliseconds);
  }
  if (idle > 0)
    text += fmt::format("  {:<48} {:>9.2f} ms\n", fmt::format("{} others found nothing", idle), idle_milliseconds);
  return text;
}

std::string OptimizationReport::ToJson() const {
  const CallersFloatMode float_mode;
  Json json = {{"nodes_before", nodes_before}, {"nodes_after", nodes_after}, {"rounds", rounds}};
  json["passes"] = Json::array();
  for (const Pass& pass : passes) {
    json["passes"].push_back({{"name", pass.name}, {"changes", pass.changes}, {"milliseconds", pass.milliseconds}});
  }
  return json.dump(2);
}

}  // namespace tessera
