// A whole GEMM of bytes with packed weights: rows as the micro-kernels read them, and tasks for the threads.

#include <algorithm>

#include "base/checked.h"
#include "base/rounding.h"
#include "kernels/gemm/choose.h"
#include "kernels/gemm/gemm_u8s8.h"
#include "kernels/gemm/outliers.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kLineBytes = 64;

/// What stands in the workspace: bytes of each part, which begins a line of the cache.
struct Layout {
  explicit Layout(const GemmU8S8Problem& p) {
    const int64_t k = p.rhs->k;
    const bool wide = p.rhs->wide();
    copies = p.lhs.is_signed || wide || (k % 4 != 0 && !p.lhs.padded);
    row = wide ? 2 * RoundUp(k, int64_t{2}) : RoundUp(k, int64_t{4});
    if (p.out.weight_zeros != nullptr) sums = RoundUp(CheckedMul(p.m, int64_t{sizeof(int32_t)}), kLineBytes);
    if (copies) rows = RoundUp(CheckedMul(p.m, row), kLineBytes);
    if (TransposesRows(*p.rhs, p.m))
      transposed = CheckedMul(CeilDiv(p.m, kTransposedRows), TransposedSize(k) * int64_t{sizeof(int16_t)});
  }

  bool copies;
  int64_t row;  // bytes from row to row
  int64_t sums = 0, rows = 0, transposed = 0;
};

struct Rows {
  RowsU8 bytes;
  const int32_t* sums;
};

/// Pairs of the rows, transposed for the outliers.
void Transpose(ThreadPool& threads, const uint8_t* data, int64_t row, int64_t rows, int64_t k, int16_t* transposed) {
  const int64_t size = TransposedSize(k);
  threads.ParallelFor(CeilDiv(rows, kTransposedRows), static_cast<double>(size) * 0.2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      TransposePairs(data + i * kTransposedRows * row, row, std::min(kTransposedRows, rows - i * kTransposedRows), k,
                     transposed + i * size);
    }
  });
}

/// One row of k bytes to `to`, of Layout::row bytes.
void CopyRow(const uint8_t* from, int64_t k, uint8_t flip, bool wide, int64_t row, uint8_t* to) {
  if (wide) {
    auto* pairs = reinterpret_cast<int16_t*>(to);
    for (int64_t i = 0; i < k; ++i) pairs[i] = static_cast<uint8_t>(from[i] ^ flip);
    if (k % 2 != 0) pairs[k] = 0;
    return;
  }
  for (int64_t i = 0; i < k; ++i) to[i] = static_cast<uint8_t>(from[i] ^ flip);
  std::fill_n(to + k, row - k, uint8_t{0});
}

/// The rows as the micro-kernels read them, and their sums where these are needed.
Rows LayOut(ThreadPool& threads, const GemmU8S8Problem& p, std::byte* workspace) {
  const Layout layout(p);
  const int64_t k = p.rhs->k, row = layout.row;
  auto* sums = layout.sums == 0 ? nullptr : reinterpret_cast<int32_t*>(workspace);
  auto* copy = reinterpret_cast<uint8_t*>(workspace + layout.sums);
  const uint8_t flip = p.lhs.is_signed ? 0x80 : 0;
  if (layout.copies || sums != nullptr) {
    threads.ParallelFor(p.m, static_cast<double>(k) * 0.1, [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        const uint8_t* from = p.lhs.data + m * (p.lhs.padded ? row : k);
        if (layout.copies) CopyRow(from, k, flip, p.rhs->wide(), row, copy + m * row);
        if (sums == nullptr) continue;
        int32_t sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += static_cast<uint8_t>(from[i] ^ flip);
        sums[m] = sum;
      }
    });
  }
  const uint8_t* data = layout.copies ? copy : p.lhs.data;
  if (layout.transposed == 0) return {{data, row}, sums};
  auto* transposed = reinterpret_cast<int16_t*>(workspace + layout.sums + layout.rows);
  Transpose(threads, data, row, p.m, k, transposed);
  return {{data, row, transposed}, sums};
}

}  // namespace

size_t GemmWorkspaceSize(const GemmU8S8Problem& problem) {
  const Layout layout(problem);
  return static_cast<size_t>(CheckedAdd(CheckedAdd(layout.sums, layout.rows), layout.transposed));
}

void Gemm(ThreadPool& threads, const GemmU8S8Problem& problem, std::byte* workspace) {
  if (problem.m == 0) return;
  const PackedWeightsS8& weights = *problem.rhs;
  const Rows left = LayOut(threads, problem, workspace);
  OutputStage out = problem.out;
  out.row_sums = left.sums;
  const int64_t rows = problem.m, blocks = CeilDiv(weights.n, weights.width);
  const PanelTasks tasks =
      ChooseU8S8Tasks(weights, rows, left.bytes.row, left.bytes.transposed != nullptr, threads.num_threads());
  const int64_t parts = tasks.panel_tasks;
  threads.ParallelFor(tasks.tasks(), tasks.task_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t m0 = i / parts * tasks.rows, part = i % parts;
      if (m0 >= rows) continue;
      MultiplyRows(weights, left.bytes, m0, std::min(rows, m0 + tasks.rows), blocks * part / parts,
                   blocks * (part + 1) / parts, out);
    }
  });
}

}  // namespace tessera::cpu
