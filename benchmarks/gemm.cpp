// Operations a second of GEMM: of each micro-kernel of kernels.inc by itself, and at the shapes of real
// networks, of floats, of bytes and with weights of 4 and 8 bits: build/bin/bench_gemm. "cold": weights come from
// memory, as a network of many layers reads them.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "base/rounding.h"
#include "gemm_operands.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_u8s8.h"
#include "kernels/gemm/gemm_u8s8_kernels.h"
#include "kernels/gemm/nbits/nbits.h"
#include "kernels/gemm/nbits/quantized.h"
#include "kernels/gemm/outliers.h"
#include "runtime/threads/thread_pools.h"

namespace tessera {
namespace {

void CountOperations(benchmark::State& state, int64_t m, int64_t n, int64_t k) {
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  state.counters["FLOP"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

/// Operands that stay in the second cache, on one thread.
constexpr int64_t kM = 96, kN = 256, kK = 384;

template <class Lhs, class Rhs, class T>
void RunKernel(benchmark::State& state, const char* name, cpu::PanelType panels) {
  const auto pool = MakeSerialPool();
  const RunScope scope(*pool);
  const auto* kernel = cpu::KernelNamed<Lhs, T>(name);
  if (kernel == nullptr) return state.SkipWithError("no such instructions here");
  const cpu::GemmOperands<Lhs, Rhs, T> operands(*pool, panels, kM, kN, kK);
  for (auto _ : state) kernel->multiply(operands.problem, 0, kM, 0, kN);
  CountOperations(state, kM, kN, kK);
}

/// The same, of bytes.
void RunKernelU8S8(benchmark::State& state, std::string_view name) {
  const auto pool = MakeSerialPool();
  const RunScope scope(*pool);
  const auto rows = cpu::RowsU8S8();
  const auto row = std::ranges::find_if(rows, [&](const cpu::U8S8Row& one) { return one.name == name; });
  if (row == rows.end() || !row->kernels.available) return state.SkipWithError("no such instructions here");
  std::vector<uint8_t> weights(static_cast<size_t>(kN * kK));
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<uint8_t>(static_cast<int>(i * 29 % 61) - 30);  // sums of products fit 16 bits
  const cpu::WeightSource source{weights.data(), true, kN, kK, 1, kN};
  const auto packed = cpu::PackWeightsS8For(row->kernels, *pool, source, cpu::PanelLayout::kVectors);
  const int64_t row_bytes = packed->groups() * 4, panels = CeilDiv(kN, packed->width);
  const std::vector<uint8_t> a(static_cast<size_t>(kM * row_bytes), 77);
  const std::vector<int32_t> add(static_cast<size_t>(panels * packed->width));
  std::vector<int32_t> c(static_cast<size_t>(kM * kN));
  cpu::OutputStage store;
  store.kind = cpu::OutputStage::kAccumulators;
  store.data = c.data();
  store.row = kN;
  store.add = add.data();
  for (auto _ : state) row->kernels.multiply_rows(*packed, {a.data(), row_bytes}, 0, kM, 0, panels, store);
  CountOperations(state, kM, kN, kK);
}

struct GemmCase {
  const char* name;
  int64_t m, n, k;
  bool constant_b;    // packed beforehand, as weights are
  bool cold = false;  // B comes from memory
};

constexpr GemmCase kGemms[] = {
    {"square 1024", 1024, 1024, 1024, true},
    {"square 512", 512, 512, 512, false},
    {"bert qkv", 128, 768, 768, true},
    {"bert up", 384, 3072, 768, true},
    {"bert down", 128, 768, 3072, true},
    {"vit", 197, 768, 768, true},
    {"scores", 128, 128, 64, false},
    {"context", 128, 64, 128, false},
    {"resnet 1x1 56", 64, 3136, 256, false},
    {"resnet 1x1 14", 256, 196, 1024, false},
    {"resnet 1x1 7", 2048, 49, 512, false},
    {"mobilenet expand 14", 384, 196, 64, false},
    {"mobilenet project 7", 160, 49, 960, false},
    {"decode", 1, 4096, 4096, true},
    {"decode 4", 4, 4096, 4096, true},
    {"bert qkv cold", 128, 768, 768, true, true},
    {"bert up cold", 128, 3072, 768, true, true},
    {"bert down cold", 128, 768, 3072, true, true},
    {"llama up cold", 128, 5632, 2048, true, true},
};

/// Enough copies of something of `bytes` that none is in a cache when its turn comes.
size_t ColdCopies(size_t bytes) { return (size_t{128} << 20) / bytes + 1; }

void RunFloat(benchmark::State& state, const GemmCase& gemm, const std::shared_ptr<SessionThreadPool>& pool) {
  const RunScope scope(*pool);
  std::vector<float> a(static_cast<size_t>(gemm.m * gemm.k), 0.5f);
  std::vector<float> b(static_cast<size_t>(gemm.k * gemm.n), 0.25f);
  std::vector<float> c(static_cast<size_t>(gemm.m * gemm.n));
  const size_t size = cpu::PackedGemmBSize<float>(gemm.k, gemm.n);
  const size_t copies = gemm.cold ? ColdCopies(size * sizeof(float)) : 1;
  std::vector<float> packed(gemm.constant_b ? size * copies : 0);
  cpu::GemmProblem<float> args;
  args.m = gemm.m;
  args.n = gemm.n;
  args.k = gemm.k;
  args.lhs = {.data = a.data(), .row = gemm.k};
  args.rhs = {.data = b.data(), .k = gemm.n};
  args.out = {.data = c.data(), .row = gemm.n};
  if (gemm.constant_b) {
    for (size_t i = 0; i < copies; ++i) {
      cpu::PackGemmB(*pool, gemm.k, gemm.n, b.data(), gemm.n, 1, packed.data() + i * size);
    }
    args.rhs.packed = packed.data();
  }
  std::vector<float> workspace(cpu::GemmWorkspaceSize(args, pool->num_threads()));
  size_t turn = 0;
  for (auto _ : state) {
    cpu::Gemm(*pool, args, workspace.empty() ? nullptr : workspace.data());
    if (gemm.cold) args.rhs.packed = packed.data() + ++turn % copies * size;
  }
  CountOperations(state, gemm.m, gemm.n, gemm.k);
}

struct QuantizedGemmCase {
  const char* name;
  int64_t m, n, k;
  double deviation;  // of the weights, in quantized values
};

// Weights of 30 quantized values fit sums of 16 bits but for a few; of 40, pairs do; of 80 neither.
constexpr QuantizedGemmCase kQuantizedGemm[] = {
    {"int8 bert up cold", 128, 3072, 768, 30},
    {"int8 bert down cold", 128, 768, 3072, 30},
    {"int8 bert up, 1 row, cold", 1, 3072, 768, 30},
    {"int8 bert up, 8 rows, cold", 8, 3072, 768, 30},
    {"int8 bert up, 32 rows, cold", 32, 3072, 768, 30},
    {"int8 full range bert up cold", 128, 3072, 768, 39},
    {"int8 full range bert down cold", 128, 768, 3072, 36},
    {"int8 wide bert up cold", 128, 3072, 768, 80},
};

void RunBytes(benchmark::State& state, const QuantizedGemmCase& gemm, const std::shared_ptr<SessionThreadPool>& pool) {
  const RunScope scope(*pool);
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0.0, gemm.deviation);
  std::vector<uint8_t> weights(static_cast<size_t>(gemm.k * gemm.n));
  for (uint8_t& weight : weights)
    weight = static_cast<uint8_t>(static_cast<int8_t>(std::clamp(std::round(normal(random)), -127.0, 127.0)));
  const cpu::WeightSource source{weights.data(), true, gemm.n, gemm.k, 1, gemm.n};
  std::vector<std::shared_ptr<const cpu::PackedWeightsS8>> packed;
  do {
    packed.push_back(cpu::PackWeightsS8(*pool, source, cpu::PanelLayout::kVectors));
    if (packed.back() == nullptr) return state.SkipWithError("no such instructions here");
  } while (packed.size() < ColdCopies(static_cast<size_t>(packed[0]->block_bytes * gemm.n / packed[0]->width)));
  const int64_t row = packed[0]->groups() * 4;
  std::vector<uint8_t> a(static_cast<size_t>(gemm.m * row), 77);
  std::vector<int16_t> transposed(static_cast<size_t>(CeilDiv(gemm.m, cpu::kTransposedRows) * cpu::TransposedSize(gemm.k)));
  const cpu::RowsU8 left{a.data(), row, packed[0]->outliers.empty() ? nullptr : transposed.data()};
  std::vector<uint8_t> c(static_cast<size_t>(gemm.m * gemm.n));
  const std::vector<float> scales(static_cast<size_t>(gemm.n + cpu::PanelWidth()), 0.001f);
  const std::vector<int32_t> add(scales.size());
  const cpu::OutputStage store{
      cpu::OutputStage::kUInt8, c.data(), gemm.n, add.data(), scales.data(), nullptr, 128, nullptr, nullptr};
  const int64_t blocks = (gemm.n - 1) / packed[0]->width + 1;
  size_t turn = 0;
  for (auto _ : state) {
    const cpu::PackedWeightsS8& packed_weights = *packed[++turn % packed.size()];
    const int64_t tasks = 4 * pool->num_threads();
    for (int64_t m = 0; left.transposed != nullptr && m < gemm.m; m += cpu::kTransposedRows) {
      cpu::TransposePairs(a.data() + m * row, row, std::min(cpu::kTransposedRows, gemm.m - m), gemm.k,
                          transposed.data() + m / cpu::kTransposedRows * cpu::TransposedSize(gemm.k));
    }
    pool->ParallelFor(tasks, 1e6, [&](int64_t begin, int64_t end) {
      cpu::MultiplyRows(packed_weights, left, 0, gemm.m, blocks * begin / tasks, blocks * end / tasks, store);
    });
  }
  CountOperations(state, gemm.m, gemm.n, gemm.k);
}

struct NBitsCase {
  const char* name;
  int64_t n, k, block_size;
  int bits;
  int limbs;           // bytes of a number of A; 0 for floats
  bool zeros = false;  // each block has a zero point of its own
};

constexpr NBitsCase kNBits[] = {
    {"int4 decode 2048x2048 cold", 2048, 2048, 32, 4, 0},
    {"int4 decode 768x3072 cold", 768, 3072, 32, 4, 0},
    {"int4 decode 3072x768 block 128 cold", 3072, 768, 128, 4, 0},
    {"int4 by int8 decode 2048x2048 cold", 2048, 2048, 32, 4, cpu::kByteLimbs},
    {"int4 by limbs decode 2048x2048 cold", 2048, 2048, 32, 4, cpu::kFloatLimbs},
    {"int8 decode 2048x2048 cold", 2048, 2048, 32, 8, 0},
    {"int8 by limbs decode 2048x2048 cold", 2048, 2048, 32, 8, cpu::kFloatLimbs},
    {"int4 decode zero points 2048x2048 cold", 2048, 2048, 32, 4, 0, true},
    {"int4 by int8 decode zero points 2048x2048 cold", 2048, 2048, 32, 4, cpu::kByteLimbs, true},
    {"int4 by limbs decode zero points 2048x2048 cold", 2048, 2048, 32, 4, cpu::kFloatLimbs, true},
};

void RunNBits(benchmark::State& state, const NBitsCase& gemm, const std::shared_ptr<SessionThreadPool>& pool) {
  const RunScope scope(*pool);
  cpu::NBitsWeights w;
  w.n = gemm.n;
  w.k = gemm.k;
  w.block_size = gemm.block_size;
  w.blocks = (gemm.k - 1) / gemm.block_size + 1;
  w.bits = gemm.bits;
  w.common_zero = 1 << (gemm.bits - 1);
  const auto bytes = static_cast<size_t>(w.n * w.blocks * w.block_bytes());
  const size_t copies = ColdCopies(bytes);
  const std::vector<uint8_t> weight_values(bytes * copies, 0x5a);
  const std::vector<float> scales(static_cast<size_t>(w.n * w.blocks) * copies, 0.01f);
  const std::vector<float> a(static_cast<size_t>(w.k), 0.5f);
  std::vector<float> arranged(static_cast<size_t>(cpu::ArrangedNBitsSize(w))), sums(static_cast<size_t>(w.blocks)),
      c(static_cast<size_t>(w.n));
  const int64_t groups = cpu::NBitsGroups(w);
  std::vector<int8_t> quantized(static_cast<size_t>(cpu::QuantizedNBitsSize(w, cpu::kFloatLimbs)));
  std::vector<float> row_scales(static_cast<size_t>(groups)), unit_sums(static_cast<size_t>(groups));
  std::vector<int32_t> starts(static_cast<size_t>(groups));
  const cpu::QuantizedRows rows{quantized.data(), row_scales.data(), unit_sums.data(),
                                starts.data(),    sums.data(),       gemm.limbs};
  const std::vector<uint8_t> zeros(static_cast<size_t>(w.n * w.zero_row_bytes()), 0x78);
  if (gemm.zeros) w.zeros = zeros.data();
  size_t turn = 0;
  for (auto _ : state) {
    const size_t copy = ++turn % copies;
    w.quantized = weight_values.data() + copy * bytes;
    w.scales = scales.data() + copy * static_cast<size_t>(w.n * w.blocks);
    if (gemm.limbs > 0) cpu::QuantizeForNBits(w, a.data(), rows);
    else cpu::ArrangeForNBits(w, a.data(), arranged.data(), sums.data());
    pool->ParallelFor(w.n, 1e3, [&](int64_t begin, int64_t end) {
      if (gemm.limbs > 0) cpu::MultiplyQuantizedNBits(w, 1, rows, begin, end, nullptr, c.data(), w.n);
      else cpu::MultiplyNBits(w, 1, arranged.data(), sums.data(), begin, end, nullptr, c.data(), w.n);
    });
  }
  CountOperations(state, 1, gemm.n, gemm.k);
}

template <class Case, class F>
void RegisterCase(const Case& gemm, F run, const std::shared_ptr<SessionThreadPool>& pool) {
  const std::string name = std::string(gemm.name) + "/threads:" + std::to_string(pool->num_threads());
  benchmark::RegisterBenchmark(name.c_str(), [pool, &gemm, run](benchmark::State& state) {
    run(state, gemm, pool);
  })->UseRealTime();
}

void RegisterKernels() {
#define TESSERA_GEMM_KERNEL(name, needs, Lhs, Rhs, T, rows, wide_rows, unroll, panels) \
  benchmark::RegisterBenchmark(                                                        \
      "kernel " #name, [](benchmark::State& state) { RunKernel<Lhs, Rhs, T>(state, #name, cpu::PanelType::panels); });
#define TESSERA_GEMM_U8S8(name, needs, Lhs, Rhs, T, rows, wide_rows, unroll, panels) \
  benchmark::RegisterBenchmark("kernel " #name, [](benchmark::State& state) { RunKernelU8S8(state, #name); });
#include "kernels/gemm/kernels.inc"
}

void Register(const std::shared_ptr<SessionThreadPool>& pool) {
  for (const GemmCase& gemm : kGemms) RegisterCase(gemm, RunFloat, pool);
  for (const QuantizedGemmCase& gemm : kQuantizedGemm) RegisterCase(gemm, RunBytes, pool);
  for (const NBitsCase& gemm : kNBits) RegisterCase(gemm, RunNBits, pool);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  using namespace tessera;
  benchmark::Initialize(&argc, argv);
  RegisterKernels();
  Register(MakeSerialPool());
  Register(MakeWorkerPool(UsableCores()));
  benchmark::RunSpecifiedBenchmarks();
}
