// Processor time and time of runs of models, one model after another in one process: Tessera's half of sweep.py.
//
//   bench_session_runs THREADS SECONDS [KEY=VALUE]...
//
// Reads a model's path a line; a line of JSON answers each: {"processor_us", "us", "runs"}, medians over batches of runs,
// or {"error"}. KEY=VALUE: entries of the sessions' configuration.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "random_inputs.h"
#include "tessera/session.h"

namespace tessera::perf {
namespace {

constexpr double kBatch = 1e-3, kWarmUp = 5e-3;  // seconds: of a batch, and of runs before the first
constexpr size_t kFewestBatches = 5;

/// Of the thread that asks. With one thread a run is all there.
double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

nlohmann::json Measure(const std::string& path, const SessionOptions& options, double seconds) {
  const Session session(std::filesystem::path(path), options);
  const std::vector<Value> inputs = RandomInputs(session, {});
  std::vector<Value> results(session.outputs().size());
  const auto run = [&](int64_t times) {
    for (int64_t i = 0; i < times; ++i) session.Run(inputs, results);
  };
  run(2);
  int64_t warm = 0;
  const double begin = Seconds();
  for (; warm == 0 || Seconds() - begin < kWarmUp; ++warm) run(1);
  const auto batch = std::max<int64_t>(1, static_cast<int64_t>(kBatch * static_cast<double>(warm) / (Seconds() - begin)));
  std::vector<double> processor, passed;
  const double start = Seconds();
  while (processor.size() < kFewestBatches || Seconds() - start < seconds) {
    const double used = ProcessorSeconds(), at = Seconds();
    run(batch);
    passed.push_back((Seconds() - at) * 1e6 / static_cast<double>(batch));
    processor.push_back((ProcessorSeconds() - used) * 1e6 / static_cast<double>(batch));
  }
  return {{"processor_us", Median(processor)},
          {"us", Median(passed)},
          {"runs", batch * static_cast<int64_t>(processor.size())}};
}

int Main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "bench_session_runs THREADS SECONDS [KEY=VALUE]...\n");
    return 2;
  }
  SessionOptions options;
  options.intra_op_threads = std::atoi(argv[1]);
  options.log_level = LogLevel::kError;
  for (int i = 3; i < argc; ++i) {
    const std::string entry = argv[i];
    options.config[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
  }
  for (std::string path; std::getline(std::cin, path);) {
    nlohmann::json answer;
    try {
      answer = Measure(path, options, std::atof(argv[2]));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace tessera::perf

int main(int argc, char** argv) { return tessera::perf::Main(argc, argv); }
