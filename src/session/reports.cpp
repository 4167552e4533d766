// Both reports of a session in one file: JSON takes most of its build.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/threads/float_mode.h"
#include "tessera/printable.h"
#include "tessera/session.h"

namespace tessera {

std::string PlacementReport::ToText() const {
  std::string text;
  const auto line = [&](const std::string& added) { text += Printable(added) + "\n"; };
  for (const ProviderEntry& entry : providers) {
    line(entry.status == "active"
             ? fmt::format("{}: {} nodes{}{}", entry.name, entry.nodes, entry.device.empty() ? "" : " on ", entry.device)
             : fmt::format("{}: skipped: {}", entry.name, entry.status));
  }
  for (const NodeEntry& node : nodes) {
    const std::string type = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    line(fmt::format("  {}{} '{}' (version {}): {}{}{}", node.graph, type, node.name, node.since_version, node.provider,
                     node.fused_into.empty() ? "" : " in " + node.fused_into,
                     node.precision.empty() ? "" : ", at " + node.precision));
    for (const auto& [provider, reason] : node.refusals) line(fmt::format("      {}: {}", provider, reason));
  }
  for (const CopyEntry& copy : copies)
    line(fmt::format("  copy {}'{}': {} to {}", copy.graph, copy.value, copy.from, copy.to));
  return text;
}

std::string PlacementReport::ToJson() const {
  nlohmann::ordered_json json;
  json["providers"] = nlohmann::ordered_json::array();
  for (const ProviderEntry& entry : providers) {
    json["providers"].push_back({{"name", entry.name}, {"status", entry.status}, {"nodes", entry.nodes}});
    if (!entry.device.empty()) json["providers"].back()["device"] = entry.device;
  }
  json["nodes"] = nlohmann::ordered_json::array();
  for (const NodeEntry& node : nodes) {
    nlohmann::ordered_json refusals = nlohmann::ordered_json::array();
    for (const auto& [provider, reason] : node.refusals) refusals.push_back({{"provider", provider}, {"reason", reason}});
    json["nodes"].push_back({{"graph", node.graph},
                             {"name", node.name},
                             {"op_type", node.op_type},
                             {"domain", node.domain},
                             {"since_version", node.since_version},
                             {"provider", node.provider},
                             {"fused_into", node.fused_into},
                             {"precision", node.precision},
                             {"inputs", node.inputs},
                             {"outputs", node.outputs},
                             {"refusals", std::move(refusals)}});
  }
  json["copies"] = nlohmann::ordered_json::array();
  for (const CopyEntry& copy : copies) {
    json["copies"].push_back({{"graph", copy.graph}, {"value", copy.value}, {"from", copy.from}, {"to", copy.to}});
  }
  // Names come from models and may hold any bytes.
  return PrintableJson(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
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
  nlohmann::ordered_json json = {{"nodes_before", nodes_before}, {"nodes_after", nodes_after}, {"rounds", rounds}};
  json["passes"] = nlohmann::ordered_json::array();
  for (const Pass& pass : passes) {
    json["passes"].push_back({{"name", pass.name}, {"changes", pass.changes}, {"milliseconds", pass.milliseconds}});
  }
  return json.dump(2);
}

}  // namespace tessera
