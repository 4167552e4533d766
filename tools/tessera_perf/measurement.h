#pragma once

// What is measured, and its forms in JSON.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/session.h"

namespace tessera::perf {

/// The node events of one operator in a trace.
struct OperatorTime {
  std::string name;  // "Conv (CPUExecutionProvider)"
  double us = 0;
  int64_t calls = 0;
  double flops = 0;  // 0: not known, or none
  double bytes = 0;  // of inputs and outputs, constants included

  /// Giga a second.
  double PerNanosecond(double amount) const { return us > 0 ? amount / (1000 * us) : 0; }
};

struct Profile {
  int runs = 0;
  std::vector<OperatorTime> operators;  // of all runs; what took longest comes first
  std::filesystem::path trace;          // empty: not kept
};

struct Measurement {
  double load_ms = 0;
  ContextReport context;
  std::vector<double> latency_ms;  // sorted
  double peak_rss_mib = 0;
  double allocations_per_run = 0;
  double runs_per_second = 0;
  std::map<std::string, size_t> providers;
  std::vector<std::string> dims_of_one;  // open dimensions of made-up inputs that nobody gave a size
  std::optional<Profile> profile;
};

/// The least of the values that a share `p` of them does not exceed (nearest rank).
double Percentile(const std::vector<double>& sorted, double p);

std::string ToJson(const Measurement& m);

/// Adds up a trace's node events by operator; what took longest comes first.
std::vector<OperatorTime> SumByOperator(const std::filesystem::path& trace);

}  // namespace tessera::perf
