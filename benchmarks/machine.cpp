// What bounds a model on this machine: multiply-adds a second on registers, and bytes a second from memory, of one core and
// of all. benchmarks/roofline.py compares layers with them.

#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "machine.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kChains = 12;  // more than two units of four cycles need, and AVX2 has registers for

/// Multiply-adds of vectors of floats, `steps` in each of kChains chains; returns the operations.
double MultiplyAdd(int64_t steps) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.5f);
  hn::Vec<decltype(d)> chains[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) chains[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chains[i] = hn::MulAdd(chains[i], factor, factor);
  }
  auto sum = chains[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, chains[i]);
  benchmark::DoNotOptimize(hn::GetLane(hn::SumOfLanes(d, sum)));
  return 2.0 * kChains * static_cast<double>(steps) * static_cast<double>(hn::Lanes(d));
}

/// Reads `count` floats, a multiple of four vectors.
void Read(const float* from, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  for (size_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, from + i));
    b = hn::Add(b, hn::LoadU(d, from + i + lanes));
    c = hn::Add(c, hn::LoadU(d, from + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, from + i + 3 * lanes));
  }
  benchmark::DoNotOptimize(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e)))));
}

}  // namespace
}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
namespace {

HWY_EXPORT(MultiplyAdd);
HWY_EXPORT(Read);

void Registers(benchmark::State& state) {
  double operations = 0;
  for (auto _ : state) operations += HWY_DYNAMIC_DISPATCH(MultiplyAdd)(int64_t{1} << 20);
  state.counters["FLOP"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
}

void Memory(benchmark::State& state) {
  const std::vector<float> data(size_t{128} << 20, 1.0f);  // 512 MiB: more than caches hold
  for (auto _ : state) HWY_DYNAMIC_DISPATCH(Read)(data.data(), data.size());
  state.counters["bytes"] =
      benchmark::Counter(static_cast<double>(data.size() * sizeof(float)), benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(Registers)->Threads(1)->ThreadPerCpu()->UseRealTime();
BENCHMARK(Memory)->Threads(1)->ThreadPerCpu()->UseRealTime();

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
#endif
