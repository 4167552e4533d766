#include "measurement.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tessera/printable.h"

namespace tessera::perf {
namespace {

/// "dnnl_Conv_12" and "dnnl_Conv_57" are two regions of one kind.
std::string WithoutNumber(std::string name) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last != std::string::npos && last + 1 < name.size() && name[last] == '_') name.resize(last);
  return name;
}

nlohmann::ordered_json ProfileJson(const Profile& profile) {
  nlohmann::ordered_json json = {{"runs", profile.runs}};
  if (!profile.trace.empty()) json["trace"] = profile.trace.string();
  json["operators"] = nlohmann::ordered_json::array();
  for (const OperatorTime& row : profile.operators) {
    json["operators"].push_back({{"operator", row.name},
                                 {"ms_per_run", row.us / 1000 / profile.runs},
                                 {"calls_per_run", static_cast<double>(row.calls) / profile.runs},
                                 {"flops_per_run", row.flops / profile.runs},
                                 {"bytes_per_run", row.bytes / profile.runs}});
  }
  return json;
}

}  // namespace

double Percentile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

std::string ToJson(const Measurement& m) {
  nlohmann::ordered_json json;
  json["latency_ms"] = {{"median", Percentile(m.latency_ms, 0.5)},
                        {"min", Percentile(m.latency_ms, 0)},
                        {"p90", Percentile(m.latency_ms, 0.9)},
                        {"p99", Percentile(m.latency_ms, 0.99)}};
  json["runs_per_second"] = m.runs_per_second;
  json["load_ms"] = m.load_ms;
  if (m.context.enabled) json["context"] = m.context.detail;
  json["peak_rss_mib"] = m.peak_rss_mib;
  json["allocations_per_run"] = m.allocations_per_run;
  json["providers"] = m.providers;
  json["runs"] = m.latency_ms.size();
  if (!m.dims_of_one.empty()) json["dims_of_one"] = m.dims_of_one;
  if (m.profile) json["profile"] = ProfileJson(*m.profile);
  return PrintableJson(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::vector<OperatorTime> SumByOperator(const std::filesystem::path& trace) {
  std::ifstream file(trace);
  const auto json = nlohmann::json::parse(file);
  const auto& events = json.is_array() ? json : json.at("traceEvents");
  std::map<std::string, OperatorTime> rows;
  for (const auto& event : events) {
    if (event.value("cat", "") != "Node") continue;
    const auto& args = event.at("args");
    const std::string name = WithoutNumber(args.value("op_type", "?")) + " (" + args.value("provider", "?") + ")";
    OperatorTime& row = rows[name];
    row.name = name;
    row.us += event.value("dur", 0.0);
    row.flops += args.value("flops", 0.0);
    row.bytes += args.value("bytes", 0.0);
    ++row.calls;
  }
  std::vector<OperatorTime> sorted;
  sorted.reserve(rows.size());
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.us > b.us; });
  return sorted;
}

}  // namespace tessera::perf
