// Runs a model at a steady rate, as a service with little to do, and tells what the process took of the processor:
// Tessera's half of idle.py.
//
//   bench_paced_runs MODEL RATE SECONDS
//
// RATE: runs a second; 0: one after another. Prints {"share", "median_ms", "runs"} as JSON; share: of one core, between
// runs included.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include "random_inputs.h"
#include "tessera/session.h"

namespace tessera::perf {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void Measure(const std::filesystem::path& model, double rate, double seconds) {
  const Session session(model);
  const std::vector<Value> inputs = RandomInputs(session, {});
  std::vector<Value> results(session.outputs().size());
  for (int i = 0; i < 5; ++i) session.Run(inputs, results);
  std::vector<double> milliseconds;
  const double used = ProcessorSeconds();
  const auto begin = Clock::now();
  while (milliseconds.empty() || Seconds(Clock::now() - begin).count() < seconds) {
    const auto start = Clock::now();
    session.Run(inputs, results);
    milliseconds.push_back(Seconds(Clock::now() - start).count() * 1e3);
    if (rate > 0) std::this_thread::sleep_until(begin + Seconds(static_cast<double>(milliseconds.size()) / rate));
  }
  const double share = (ProcessorSeconds() - used) / Seconds(Clock::now() - begin).count();
  std::sort(milliseconds.begin(), milliseconds.end());
  fmt::print("{{\"share\": {}, \"median_ms\": {}, \"runs\": {}}}\n", share, milliseconds[milliseconds.size() / 2],
             milliseconds.size());
}

}  // namespace
}  // namespace tessera::perf

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    tessera::perf::Measure(argv[1], std::atof(argv[2]), std::atof(argv[3]));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
