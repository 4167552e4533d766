#include "placement_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace tessera::inspect {
namespace {

/// "1 node", "2 nodes"
std::string Count(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string LineOf(const PlacementReport::ProviderEntry& provider, const PlacementReport& report) {
  if (provider.status != "active") return fmt::format("{}: not used, {}", provider.name, provider.status);
  size_t nodes = 0, fused = 0;
  std::set<std::pair<std::string, std::string>> regions;
  for (const auto& node : report.nodes) {
    if (node.provider != provider.name) continue;
    ++nodes;
    if (node.fused_into.empty()) continue;
    ++fused;
    regions.emplace(node.graph, node.fused_into);
  }
  std::string line = fmt::format("{}: {}", provider.name, Count(nodes, "node"));
  if (fused > 0) line += fmt::format(", {} in {}", fused, Count(regions.size(), "region"));
  return provider.device.empty() ? line : line + " on " + provider.device;
}

/// Provider and reason, with the nodes that it was given for; the most frequent come first.
std::vector<std::pair<std::string, size_t>> Reasons(const PlacementReport& report) {
  std::map<std::string, size_t> counts;
  for (const auto& node : report.nodes) {
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
    if (lines.size() < kMostLines - 2) lines.push_back(LineOf(provider, report));
  }
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
