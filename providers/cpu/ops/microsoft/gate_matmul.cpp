#include "cpu/ops/microsoft/gate_matmul.h"

#include <algorithm>

#include "base/rounding.h"
#include "kernels/gemm/choose.h"
#include "kernels/gemm/gemm_int8.h"
#include "kernels/gemm/gemm_u8s8_kernels.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kLargestWeight = 128, kGroup = 4;
constexpr size_t kCacheLine = 64;

int64_t DepthOf(const GateMatrix& matrix, int64_t part) {
  return std::min(GateMatrix::kDepth, matrix.k - part * GateMatrix::kDepth);
}

/// Of the integers that meet so many weights.
int32_t MostOf(int64_t depth) {
  return static_cast<int32_t>(std::min<int64_t>(INT16_MAX, INT32_MAX / (kLargestWeight * depth)));
}

/// Where a GEMM's parts lie between its operands and its result: accumulators of both limbs, what rows stand for, and
/// the integers, of 16 bits or in two limbs.
struct Workspace {
  Workspace(std::byte* memory, int64_t rows, int64_t n)
      : low(reinterpret_cast<int32_t*>(memory)),
        high(low + rows * n),
        quantized(reinterpret_cast<QuantizedRow*>(high + rows * n)),
        integers(reinterpret_cast<std::byte*>(quantized + rows)) {}

  int32_t *low, *high;
  QuantizedRow* quantized;
  std::byte* integers;
};

/// out[r] += the scaled sums of row r.
void AddRows(ThreadPool& threads, const GateMatrix& matrix, int64_t rows, const Workspace& at, float* out,
             int64_t out_row) {
  threads.ParallelFor(rows, static_cast<double>(matrix.n) * 0.3, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      AddScaled({at.low + r * matrix.n, matrix.panels == nullptr ? at.high + r * matrix.n : nullptr}, matrix.n,
                at.quantized[r], matrix.columns, out + r * out_row);
    }
  });
}

void AddLimbs(ThreadPool& threads, const GateMatrix& matrix, int64_t part, int64_t rows, const float* a,
              const Workspace& at, float* out, int64_t out_row) {
  const int64_t depth = DepthOf(matrix, part), row = RoundUp(depth, kGroup);
  auto* limbs = reinterpret_cast<uint8_t*>(at.integers);
  for (int64_t r = 0; r < rows; ++r) {
    at.quantized[r] = QuantizeToLimbs(a + r * matrix.k + part * GateMatrix::kDepth, depth, MostOf(depth), limbs + r * row,
                                      limbs + (rows + r) * row);
  }
  const LimbWeights& weights = matrix.limbs[static_cast<size_t>(part)];
  const PackedWeightsS8& packed = *weights.weights;
  const int64_t panels = CeilDiv(packed.n, packed.width);
  if (packed.tiles && ChooseLimbPath(rows, packed.groups(), panels) == U8S8Path::kTiles) {
    OutputStage stage;
    stage.kind = OutputStage::kAccumulators;
    stage.data = at.low;
    stage.row = matrix.n;
    stage.add = weights.terms.data();
    Gemm(threads, {.m = 2 * rows, .lhs = {limbs, false, true}, .rhs = &packed, .out = stage}, nullptr);
    return AddRows(threads, matrix, rows, at, out, out_row);
  }
  constexpr double kDotNs = 0.01;
  const double panel_ns = kDotNs * static_cast<double>(2 * rows * packed.k) * static_cast<double>(packed.width);
  threads.ParallelFor(panels, panel_ns, [&](int64_t begin, int64_t end) {
    AddLimbGemm(packed, weights.terms.data(), {limbs, limbs + rows * row, row, rows, at.quantized}, matrix.columns, begin,
                end, out, out_row);
  });
}

void AddPairs(ThreadPool& threads, const GateMatrix& matrix, int64_t part, const int8_t* panels, int64_t rows,
              const float* a, const Workspace& at, float* out, int64_t out_row) {
  const int64_t depth = DepthOf(matrix, part), row = 2 * Pairs(depth);
  auto* pairs = reinterpret_cast<int16_t*>(at.integers);
  for (int64_t r = 0; r < rows; ++r) {
    at.quantized[r] = QuantizeToPairs(a + r * matrix.k + part * GateMatrix::kDepth, depth, MostOf(depth), pairs + r * row);
  }
  GemmProblem<int32_t> args;
  args.m = rows;
  args.n = matrix.n;
  args.k = depth;
  args.lhs = {.data = pairs, .row = row};
  args.rhs = {.packed = panels, .type = PanelType::kInt8};
  args.out = {.data = at.low, .row = matrix.n};
  Gemm(threads, args);
  AddRows(threads, matrix, rows, at, out, out_row);
}

}  // namespace

LimbWeights::LimbWeights(std::shared_ptr<const PackedWeightsS8> packed) : weights(std::move(packed)) {
  terms.resize(static_cast<size_t>(RoundUp(weights->n, weights->width)));
  std::ranges::transform(weights->sums, terms.begin(), [](int32_t sum) { return static_cast<int32_t>(LimbTerm(sum)); });
}

bool MultipliesLimbs() { return KernelsU8S8().available && KernelsU8S8().packing != U8S8Packing::kPairs; }

size_t GatePanelsSize(int64_t k, int64_t n) {
  size_t size = 0;
  for (int64_t k0 = 0; k0 < k; k0 += GateMatrix::kDepth) size += PackedInt8Size(std::min(GateMatrix::kDepth, k - k0), n);
  return size;
}

void PackGatePanels(ThreadPool& threads, const uint8_t* weights, bool is_signed, int64_t k, int64_t n, int8_t* panels) {
  for (int64_t k0 = 0; k0 < k; k0 += GateMatrix::kDepth) {
    const int64_t depth = std::min(GateMatrix::kDepth, k - k0);
    PackNarrowInt8(threads, depth, n, weights + k0 * n, is_signed, panels);
    panels += PackedInt8Size(depth, n);
  }
}

size_t GateWorkspaceOfRow(int64_t k, int64_t n) {
  const auto depth = static_cast<size_t>(RoundUp(std::min(k, GateMatrix::kDepth), kGroup));
  return RoundUp(depth * sizeof(int16_t) + 2 * static_cast<size_t>(n) * sizeof(int32_t) + sizeof(QuantizedRow), kCacheLine);
}

void AddGateMatMul(ThreadPool& threads, const GateMatrix& matrix, int64_t rows, const float* a, float* out, int64_t out_row,
                   std::byte* workspace) {
  const Workspace at(workspace, rows, matrix.n);
  const int8_t* panels = matrix.panels;
  for (int64_t part = 0; part < matrix.parts(); ++part) {
    if (panels == nullptr) {
      AddLimbs(threads, matrix, part, rows, a, at, out, out_row);
      continue;
    }
    AddPairs(threads, matrix, part, panels, rows, a, at, out, out_row);
    panels += PackedInt8Size(DepthOf(matrix, part), matrix.n);
  }
}

}  // namespace tessera::cpu
