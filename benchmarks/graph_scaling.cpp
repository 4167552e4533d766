// How load, first run and second run grow where a model's size doubles: a stranger chooses the model, so that nothing may
// take the square of its size. Fails where any of the three takes more than 2.5 times as long for twice the size.
//
//   bench_graph_scaling [--kinds REGEX] [--from N] [--to N] [--growth G] [--floor MS]

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <optional>
#include <regex>

#include "graph_scaling/kinds.h"

namespace tessera::scaling {
namespace {

struct Options {
  std::string kinds = ".*";
  int from = 1563;
  int to = 100000;
  double growth = 2.5;
  double floor_ms = 20;
  double most_s = 60;
};

constexpr std::array kStages = {"load", "first run", "second run"};
using Times = std::array<double, kStages.size()>;  // milliseconds

/// Time of this process's threads rather than time that passes: others may use the machine.
double Now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

SessionOptions OptionsFor(const Kind& kind) {
  SessionOptions options;
  options.intra_op_threads = 1;
  options.log_level = LogLevel::kError;
  if (*kind.provider != 0) {
    ProviderOptions given;
    for (const auto& [key, value] : kind.provider_options) given[key] = value;
    options.providers.push_back({kind.provider, std::move(given)});
    options.error_on_failure = true;
  }
  return options;
}

/// Whether its provider starts here.
bool IsAvailable(const Kind& kind) try {
  if (*kind.provider == 0) return true;
  const Case made = kind.make(8);
  const Session session(std::as_bytes(std::span(made.model)), OptionsFor(kind));
  return true;
} catch (const Error&) {
  return false;
}

Times Measure(const Kind& kind, int n) {
  const Case made = kind.make(n);
  Times times;
  const double start = Now();
  const Session session(std::as_bytes(std::span(made.model)), OptionsFor(kind));
  times[0] = Now() - start;
  for (size_t run = 1; run < times.size(); ++run) {
    const double before = Now();
    session.Run(made.names, made.inputs);
    times[run] = Now() - before;
  }
  return times;
}

Times Best(const Times& a, const Times& b) {
  Times best;
  for (size_t i = 0; i < best.size(); ++i) best[i] = std::min(a[i], b[i]);
  return best;
}

/// The stage that grew too much from one size to its double.
std::optional<size_t> TooMuch(const Times& before, const Times& after, const Options& options) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (after[i] > options.floor_ms && after[i] > options.growth * std::max(before[i], options.floor_ms / options.growth))
      return i;
  }
  return std::nullopt;
}

/// False where it grows too much.
bool Run(const Kind& kind, const Options& options) {
  std::optional<Times> before;
  bool good = true;
  for (int n = options.from; n <= std::min(options.to, kind.most) * 101 / 100; n *= 2) {
    Times times = Measure(kind, n);
    std::string note;
    std::optional<size_t> grew = before ? TooMuch(*before, times, options) : std::nullopt;
    for (int again = 0; grew && again < 2; ++again) {  // something else may have slowed it down
      times = Best(times, Measure(kind, n));
      grew = TooMuch(*before, times, options);
    }
    if (grew) note = std::string(" grows too much: ") + kStages[*grew];
    good = good && !grew;
    std::printf("| %-28s | %6d | %9.1f | %9.1f | %9.1f |%s\n", kind.name, n, times[0], times[1], times[2], note.c_str());
    std::fflush(stdout);
    before = times;
    if (times[0] + times[1] + times[2] > options.most_s * 1e3) return false;
  }
  return good;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("How load and runs grow with a model's size");
  app.add_option("--kinds", options.kinds, "regular expression that the kinds' names match");
  app.add_option("--from", options.from, "smallest size");
  app.add_option("--to", options.to, "largest size");
  app.add_option("--growth", options.growth, "most that a time may grow where the size doubles");
  app.add_option("--floor", options.floor_ms, "times below this many milliseconds do not count");
  app.add_option("--most", options.most_s, "seconds that one size may take");
  CLI11_PARSE(app, argc, argv);
  const std::regex wanted(options.kinds);
  std::printf("| %-28s | %6s | %9s | %9s | %9s |\n|---|---:|---:|---:|---:|\n", "kind", "n", "load ms", "first ms",
              "second ms");
  int failures = 0;
  for (const auto* kinds : {&FlatKinds(), &OtherKinds()}) {
    for (const Kind& kind : *kinds) {
      if (!std::regex_match(kind.name, wanted)) continue;
      if (!IsAvailable(kind)) {
        std::printf("| %-28s | %s does not start here |\n", kind.name, kind.provider);
        continue;
      }
      try {
        failures += Run(kind, options) ? 0 : 1;
      } catch (const std::exception& error) {
        std::printf("| %-28s | failed: %.300s\n", kind.name, error.what());
        ++failures;
      }
    }
  }
  std::printf("%d kinds grow too much\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::scaling

int main(int argc, char** argv) { return tessera::scaling::Main(argc, argv); }
