#include "placement_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inspect {
namespace {

/// "1 node", "2 nodes"
std::string Count(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string LineOf(const PlacementReport::ProviderEntry& provider, const PlacementReport& report) {
  if (provider.status != "active") return fmt::format("{}: not used, {}", provider.name, provider.status);
  size_t compiled = 0;
  std::set<std::string_view> regions;
  for (const auto& node : report.model_nodes) {
    if (node.provider != provider.name) continue;
    const std::string& region = report.nodes[node.runs_in.front()].fused_into;
    if (region.empty()) continue;
    ++compiled;
    regions.insert(region);
  }
  std::string line = fmt::format("{}: {}", provider.name, Count(provider.model_nodes, "node"));
  if (compiled > 0) line += fmt::format(", {} in {}", compiled, Count(regions.size(), "region"));
  return provider.device.empty() ? line : line + " on " + provider.device;
}

/// Nodes that nobody has to run; empty where there are none.
std::string NotRun(const PlacementReport& report) {
  size_t folded = 0, removed = 0;
  for (const auto& node : report.model_nodes) {
    folded += node.fate == PlacementReport::Fate::kFolded ? 1 : 0;
    removed += node.fate == PlacementReport::Fate::kRemoved ? 1 : 0;
  }
  std::string line;
  if (folded > 0) line = fmt::format("{} folded into constants", Count(folded, "node"));
  if (removed > 0)
    line += line.empty() ? fmt::format("{} removed", Count(removed, "node")) : fmt::format(", {} removed", removed);
  return line;
}

/// Provider and reason, with the nodes that it was given for; the most frequent come first.
std::vector<std::pair<std::string, size_t>> Reasons(const PlacementReport& report) {
  std::map<std::string, size_t> counts;
  for (const auto& node : report.model_nodes) {
    for (const auto& [provider, reason] : node.refusals) ++counts[provider + ": " + reason];
  }
  std::vector<std::pair<std::string, size_t>> reasons(counts.begin(), counts.end());
  std::ranges::stable_sort(reasons, std::greater(), &std::pair<std::string, size_t>::second);
  return reasons;
}

}  // namespace

std::string Summarize(const PlacementReport& report) {
  constexpr size_t kMostLines = 10;
  std::vector<std::string> lines;
  for (const auto& provider : report.providers) {
    if (lines.size() < kMostLines - 3) lines.push_back(LineOf(provider, report));
  }
  if (std::string line = NotRun(report); !line.empty()) lines.push_back(std::move(line));
  if (!report.copies.empty())
    lines.push_back(fmt::format("{} between memories",
                                report.copies.size() == 1 ? "1 copy" : fmt::format("{} copies", report.copies.size())));
  const auto reasons = Reasons(report);
  for (size_t i = 0; i < reasons.size(); ++i) {
    if (lines.size() + 1 == kMostLines && i + 1 < reasons.size()) {
      size_t rest = 0;
      for (size_t j = i; j < reasons.size(); ++j) rest += reasons[j].second;
      lines.push_back(
          fmt::format("{:>6}x refused for {} other reasons: --verbose has them by node", rest, reasons.size() - i));
      break;
    }
    lines.push_back(fmt::format("{:>6}x refused by {}", reasons[i].second, reasons[i].first));
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace tessera::inspect
