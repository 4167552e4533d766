#pragma once

// How the picks of a chooser compare with the best candidates that were timed beside them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

namespace tessera {

struct PickResult {
  double pick_ns = 0, best_ns = std::numeric_limits<double>::infinity();
  std::string pick, best;

  /// The first candidate is the pick.
  void Add(std::string_view name, double ns) {
    if (pick.empty()) pick_ns = ns, pick = name;
    if (ns < best_ns) best_ns = ns, best = name;
  }
};

/// Prints those that are more than 5 % slower as they come.
class PickSummary {
 public:
  void Add(std::string_view problem, const PickResult& result) {
    const double slower = result.pick_ns / result.best_ns - 1;
    ++count_;
    log_sum_ += std::log1p(slower);
    if (slower <= kSlow) return;
    ++slow_;
    fmt::print("{:<52} {:>10.1f} us by {}, {:.0f} % more than by {}\n", problem, result.pick_ns / 1000, result.pick,
               100 * slower, result.best);
    std::fflush(stdout);
  }
  void Print() const {
    fmt::print("{} of {} picks are more than {:.0f} % slower than the best candidate, all {:.2f} % on average\n", slow_,
               count_, 100 * kSlow, 100 * std::expm1(log_sum_ / std::max(count_, 1)));
  }

 private:
  static constexpr double kSlow = 0.05;
  double log_sum_ = 0;
  int count_ = 0, slow_ = 0;
};

}  // namespace tessera
