// GFLOP/s of the float matrix product at the shapes of real networks: build/bin/bench_products

#include <benchmark/benchmark.h>

#include <vector>

#include "runtime/thread_pools.h"
#include "simd/gemm.h"

namespace tessera {
namespace {

struct Product {
  const char* name;
  int64_t m, n, k;
  bool constant_b;  // packed beforehand, as weights are
};

constexpr Product kProducts[] = {
    {"square 1024", 1024, 1024, 1024, true},     {"square 512", 512, 512, 512, false},
    {"bert qkv", 128, 768, 768, true},           {"bert up", 384, 3072, 768, true},
    {"bert down", 128, 768, 3072, true},         {"vit", 197, 768, 768, true},
    {"scores", 128, 128, 64, false},             {"context", 128, 64, 128, false},
    {"resnet 1x1 56", 64, 3136, 256, false},     {"resnet 1x1 14", 256, 196, 1024, false},
    {"resnet 1x1 7", 2048, 49, 512, false},      {"mobilenet expand 14", 384, 196, 64, false},
    {"mobilenet project 7", 160, 49, 960, false}, {"decode", 1, 4096, 4096, true},
    {"decode 4", 4, 4096, 4096, true},
};

void Run(benchmark::State& state, const Product& product, const std::shared_ptr<SessionThreadPool>& pool) {
  const RunScope scope(*pool);
  std::vector<float> a(static_cast<size_t>(product.m * product.k), 0.5f);
  std::vector<float> b(static_cast<size_t>(product.k * product.n), 0.25f);
  std::vector<float> c(static_cast<size_t>(product.m * product.n));
  std::vector<float> packed(cpu::PackedGemmBSize<float>(product.k, product.n));
  cpu::GemmArgs<float> args;
  args.m = product.m;
  args.n = product.n;
  args.k = product.k;
  args.a = a.data();
  args.a_row = product.k;
  args.b = b.data();
  args.b_k = product.n;
  args.c = c.data();
  args.c_row = product.n;
  if (product.constant_b) {
    cpu::PackGemmB(*pool, product.k, product.n, b.data(), product.n, 1, packed.data());
    args.packed_b = packed.data();
  }
  std::vector<float> workspace(cpu::GemmWorkspaceSize(args, pool->num_threads()));
  for (auto _ : state) cpu::Gemm(*pool, args, workspace.empty() ? nullptr : workspace.data());
  const double operations = 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k);
  state.counters["FLOP"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

void Register(const std::shared_ptr<SessionThreadPool>& pool) {
  for (const Product& product : kProducts) {
    const std::string name = std::string(product.name) + "/threads:" + std::to_string(pool->num_threads());
    benchmark::RegisterBenchmark(name.c_str(), [pool, &product](benchmark::State& state) { Run(state, product, pool); })->UseRealTime();
  }
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  using namespace tessera;
  benchmark::Initialize(&argc, argv);
  Register(MakeSerialPool());
  Register(MakeWorkerPool(UsableCores()));
  benchmark::RunSpecifiedBenchmarks();
}
