#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/session.h"

namespace tessera {

std::string OptimizationReport::ToText() const {
  std::string text = fmt::format("optimizer: {} nodes -> {} in {} rounds\n", nodes_before, nodes_after, rounds);
  for (const Pass& pass : passes) {
    text += fmt::format("  {:<24} {:>7} changes {:>9.2f} ms\n", pass.name, pass.changes, pass.milliseconds);
  }
  return text;
}

std::string OptimizationReport::ToJson() const {
  nlohmann::ordered_json json = {{"nodes_before", nodes_before}, {"nodes_after", nodes_after}, {"rounds", rounds}};
  json["passes"] = nlohmann::ordered_json::array();
  for (const Pass& pass : passes) {
    json["passes"].push_back({{"name", pass.name}, {"changes", pass.changes}, {"milliseconds", pass.milliseconds}});
  }
  return json.dump(2);
}

}  // namespace tessera
