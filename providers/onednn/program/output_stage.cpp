#include "onednn/program/output_stage.h"

#include <numeric>

#include "kernels/gemm/gemm_int8.h"

namespace tessera::onednn {
namespace {

constexpr double kNsPerByte = 0.05, kNsPerAccumulator = 0.5;

int32_t ReadZero(const ZeroPoint& zero, const void* quantized, int64_t i) {
  if (quantized == nullptr) return zero.shift;
  const auto byte = static_cast<const uint8_t*>(quantized)[zero.count == 1 ? 0 : i];
  return (zero.is_signed ? static_cast<int8_t>(byte) : byte) + zero.shift;
}

}  // namespace

struct OutputStageStep::Pointers {
  int32_t* accumulators;
  const uint8_t* a;
  const int8_t* b;
  int32_t* column_sums;
  const void *a_zero, *b_zero;
  void* out;
  const float *a_scale, *b_scale, *bias;
};

OutputStageStep::OutputStageStep(Settings settings, const OutputStageMemories& memories) : settings_(std::move(settings)) {
  for (const MemoryIndex memory : {memories.accumulators, memories.a, memories.b, memories.column_sums, memories.a_zero,
                                   memories.b_zero, memories.out, memories.a_scale, memories.b_scale, memories.bias}) {
    position_.push_back(memory < 0 ? -1 : static_cast<int>(arguments_.size()));
    if (memory >= 0) arguments_.push_back(memory);
  }
}

OutputStageStep::Pointers OutputStageStep::Sort(std::span<void* const> memories) const {
  const auto at = [&](size_t i) { return position_[i] < 0 ? nullptr : memories[static_cast<size_t>(position_[i])]; };
  return {static_cast<int32_t*>(at(0)),
          static_cast<const uint8_t*>(at(1)),
          static_cast<const int8_t*>(at(2)),
          static_cast<int32_t*>(at(3)),
          at(4),
          at(5),
          at(6),
          static_cast<const float*>(at(7)),
          static_cast<const float*>(at(8)),
          static_cast<const float*>(at(9))};
}

void OutputStageStep::AddColumns(const Pointers& p, ThreadPool& threads) const {
  const OutputStageShape& s = settings_.shape;
  threads.ParallelFor(s.matrices, static_cast<double>(s.depth * s.columns) * kNsPerByte, [&](int64_t begin, int64_t end) {
    for (int64_t matrix = begin; matrix < end; ++matrix) {
      int32_t* accumulators = p.column_sums + matrix * s.columns;
      std::fill_n(accumulators, s.columns, 0);
      const int8_t* row = p.b + matrix * s.depth * s.columns;
      for (int64_t k = 0; k < s.depth; ++k, row += s.columns) {
        for (int64_t j = 0; j < s.columns; ++j) accumulators[j] += row[j];
      }
    }
  });
}

/// Sums wrap around as the CPU provider's do.
void OutputStageStep::CorrectRow(const Pointers& p, int64_t row) const {
  const OutputStageShape& s = settings_.shape;
  auto* accumulators = reinterpret_cast<uint32_t*>(p.accumulators + row * s.columns);
  if (s.depth == 0) {
    std::fill_n(accumulators, s.columns, 0u);
    return;
  }
  const auto a_zero = static_cast<uint32_t>(ReadZero(settings_.a, p.a_zero, 0));
  if (p.column_sums != nullptr && a_zero != 0) {
    const auto* columns = reinterpret_cast<const uint32_t*>(p.column_sums + row / s.rows * s.columns);
    for (int64_t j = 0; j < s.columns; ++j) accumulators[j] -= a_zero * columns[j];
  }
  if (p.a == nullptr) return;
  const uint8_t* quantized = p.a + row * s.depth;
  const auto row_sum = static_cast<uint32_t>(std::accumulate(quantized, quantized + s.depth, int32_t{0})) -
                       static_cast<uint32_t>(s.depth) * a_zero;
  for (int64_t j = 0; j < s.columns; ++j)
    accumulators[j] -= row_sum * static_cast<uint32_t>(ReadZero(settings_.b, p.b_zero, j));
}

void OutputStageStep::FinishRow(const Pointers& p, int64_t row) const {
  const int64_t n = settings_.shape.columns;
  const int32_t* accumulators = p.accumulators + row * n;
  if (settings_.result == Result::kFloat) {
    float* out = static_cast<float*>(p.out) + row * n;
    const int64_t step = settings_.b_scales == 1 ? 0 : 1;
    for (int64_t j = 0; j < n; ++j) out[j] = static_cast<float>(accumulators[j]) * (p.a_scale[0] * p.b_scale[j * step]);
    for (int64_t j = 0; j < n && p.bias != nullptr; ++j) out[j] += p.bias[j];
  } else if (settings_.result != Result::kAccumulators) {
    cpu::RequantizeRow(accumulators, n, settings_.scales.data(), settings_.scales.size() == 1 ? 0 : 1,
                       settings_.result_zero, settings_.result == Result::kInt8, static_cast<uint8_t*>(p.out) + row * n);
  }
}

void OutputStageStep::Run(std::span<void* const> memories, ThreadPool& threads) const {
  const Pointers p = Sort(memories);
  const OutputStageShape& s = settings_.shape;
  if (settings_.adds_columns && s.depth > 0) AddColumns(p, threads);
  const double row_ns =
      static_cast<double>(s.columns) * kNsPerAccumulator + (p.a == nullptr ? 0 : static_cast<double>(s.depth) * kNsPerByte);
  threads.ParallelFor(s.matrices * s.rows, row_ns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      CorrectRow(p, row);
      FinishRow(p, row);
    }
  });
}

void FlipSignStep::Run(std::span<void* const> memories, ThreadPool& threads) const {
  const auto* from = static_cast<const uint8_t*>(memories[0]);
  auto* to = static_cast<uint8_t*>(memories[1]);
  threads.ParallelFor(count_, kNsPerByte, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = from[i] ^ 0x80;
  });
}

}  // namespace tessera::onednn
