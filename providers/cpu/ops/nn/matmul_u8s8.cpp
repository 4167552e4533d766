#include "cpu/ops/nn/matmul_u8s8.h"

#include <algorithm>

#include "base/checked.h"
#include "base/rounding.h"
#include "kernels/gemm/outliers.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kLeftBytes = 192 << 10;  // of rows that stay in the second cache while panels stream

struct Rows {
  RowsU8 bytes;
  const int32_t* sums;
};

/// Pairs of the rows, transposed for the outliers.
const int16_t* Turn(KernelContext& context, const uint8_t* data, int64_t row, int64_t rows, int64_t k) {
  const int64_t size = TransposedSize(k), parts = CeilDiv(rows, kTransposedRows);
  int16_t* transposed = context.scratch<int16_t>(static_cast<size_t>(CheckedMul(parts, size))).data();
  context.threads().ParallelFor(parts, static_cast<double>(size) * 0.2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      TransposePairs(data + i * kTransposedRows * row, row, std::min(kTransposedRows, rows - i * kTransposedRows), k,
                     transposed + i * size);
    }
  });
  return transposed;
}

/// The rows as the kernels read them, and their sums where these are needed.
Rows LayOut(KernelContext& context, const PackedWeightsS8& packed, const MatrixU8& a, bool sums_too) {
  const uint8_t* data = a.data;
  const int64_t rows = a.rows, k = a.k;
  int32_t* sums = !sums_too ? nullptr : context.scratch<int32_t>(static_cast<size_t>(rows)).data();
  const bool wide = packed.wide();
  const bool copies = a.is_signed || wide || k % 4 != 0;
  const bool corrected = !packed.outliers.empty();
  if (!copies && sums == nullptr && !corrected) return {{data, k}, nullptr};
  const int64_t row = wide ? 2 * RoundUp(k, 2) : copies ? RoundUp(k, 4) : k;
  uint8_t* to = copies ? context.scratch<uint8_t>(static_cast<size_t>(CheckedMul(rows, row))).data() : nullptr;
  const uint8_t flip = a.is_signed ? 0x80 : 0;
  context.threads().ParallelFor(rows, static_cast<double>(k) * 0.1, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      const uint8_t* from = data + m * k;
      if (wide) {
        auto* pairs = reinterpret_cast<int16_t*>(to + m * row);
        for (int64_t i = 0; i < k; ++i) pairs[i] = static_cast<uint8_t>(from[i] ^ flip);
        if (k % 2 != 0) pairs[k] = 0;
      } else if (copies) {
        for (int64_t i = 0; i < k; ++i) to[m * row + i] = static_cast<uint8_t>(from[i] ^ flip);
        std::fill_n(to + m * row + k, row - k, uint8_t{0});
      }
      if (sums == nullptr) continue;
      int32_t sum = 0;
      for (int64_t i = 0; i < k; ++i) sum += static_cast<uint8_t>(from[i] ^ flip);
      sums[m] = sum;
    }
  });
  const RowsU8 bytes{copies ? to : data, row, corrected ? Turn(context, copies ? to : data, row, rows, k) : nullptr};
  return {bytes, sums};
}

}  // namespace

void MultiplyU8S8(KernelContext& context, const PackedWeightsS8& packed, const MatrixU8& a, OutputStage store) {
  if (a.rows == 0) return;
  const Rows left = LayOut(context, packed, a, store.weight_zeros != nullptr);
  store.row_sums = left.sums;
  const int64_t rows = a.rows, n = packed.n, k = a.k, blocks = CeilDiv(n, packed.width);
  const int64_t want = context.threads().num_threads() == 1 ? 1 : 4 * context.threads().num_threads();
  const int64_t block_tasks = std::min(blocks, want);
  const int64_t most_rows = std::max<int64_t>(kLeftBytes / left.bytes.row, 24);
  const int64_t row_tasks = std::max(CeilDiv(rows, most_rows), std::min(CeilDiv(want, block_tasks), (rows + 11) / 12));
  const int64_t step = RoundUp(CeilDiv(rows, row_tasks), left.bytes.transposed == nullptr ? 12 : 3 * kTransposedRows);
  const double work = static_cast<double>(rows) * static_cast<double>(n) * static_cast<double>(k) * 0.008;
  const int64_t tasks = block_tasks * row_tasks;
  context.threads().ParallelFor(tasks, work / static_cast<double>(tasks), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t m0 = i / block_tasks * step, part = i % block_tasks;
      if (m0 >= rows) continue;
      MultiplyRows(packed, left.bytes, m0, std::min(rows, m0 + step), blocks * part / block_tasks,
                   blocks * (part + 1) / block_tasks, store);
    }
  });
}

}  // namespace tessera::cpu
