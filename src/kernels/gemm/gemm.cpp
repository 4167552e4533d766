// Splits a GEMM into tiles for the threads, and chooses between the register-tile and the vector paths.

#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "base/checked.h"
#include "base/rounding.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/gemm_kernels.h"

namespace tessera::cpu {
namespace {

template <class T>
const GemmKernels<T>& Kernels() {
  if constexpr (std::is_same_v<T, float>) {
    return GemmKernelsF32();
  } else {
    return GemmKernelsF64();
  }
}

/// Nanoseconds of one multiply-add on one core, roughly: 16 per cycle at 2.5 GHz for f32.
template <class T>
constexpr double kMulAddNs = sizeof(T) == 4 ? 0.025 : 0.05;
/// And of an element of B that is read, which bounds GEMMs of a row or two: 80 GB/s.
template <class T>
constexpr double kReadNs = sizeof(T) * 0.0125;

/// Of a whole GEMM on one core.
template <class T>
double ProductNs(const GemmProblem<T>& args) {
  const double weights = static_cast<double>(args.n) * static_cast<double>(args.k);
  return weights * std::max(static_cast<double>(args.m) * kMulAddNs<T>, kReadNs<T>);
}

/// Rows and columns of C that one task computes.
struct Grid {
  int64_t rows;
  int64_t columns;
  int64_t row_tasks;
  int64_t column_tasks;
  int64_t tasks() const { return row_tasks * column_tasks; }
};

/// Where every task copies the rows of A that it reads, and streams B once for every `copied_rows` of them: of grids of
/// about `want` tasks the one for which that and uneven shares are fastest, and its time.
template <class T>
std::pair<Grid, double> SplitCopiedRows(int64_t blocks, int64_t panels, int64_t parts, int64_t want) {
  constexpr double kWait = 0.1;  // of a task, for a thread that others hold up
  const GemmKernels<T>& kernels = Kernels<T>();
  Grid best{};
  double least = 0;
  // In growing steps, so that many threads do not make this long.
  for (int64_t row_tasks = 1; row_tasks <= std::min(blocks, want); row_tasks += std::max<int64_t>(row_tasks / 2, 1)) {
    const int64_t task_blocks = CeilDiv(blocks, row_tasks);
    const int64_t task_panels = CeilDiv(panels, std::min(panels, CeilDiv(want, row_tasks)));
    const Grid grid{task_blocks * kernels.row_block, task_panels * kernels.panel_width, CeilDiv(blocks, task_blocks),
                    CeilDiv(panels, task_panels)};
    const double task = static_cast<double>(task_blocks * task_panels);
    const double share = std::max(static_cast<double>(blocks * panels) / static_cast<double>(parts), task);
    const double uneven = grid.tasks() % parts == 0 ? 0 : task / 2;
    const double time = (share + uneven + kWait * task) *
                        (1 + kernels.copy_cost / static_cast<double>(grid.columns) +
                         kernels.read_cost / static_cast<double>(std::min(grid.rows, kernels.copied_rows)));
    if (row_tasks == 1 || time < least) {
      best = grid;
      least = time;
    }
  }
  return {best, least};
}

/// `whole_b`: B is or will be packed as a whole, so that tasks of different rows share it.
template <class T>
Grid SplitWork(const GemmProblem<T>& args, int64_t parts, bool whole_b) {
  const int64_t width = Kernels<T>().panel_width;
  const int64_t block = Kernels<T>().row_block;
  Grid grid{std::max<int64_t>(args.m, 1), std::max<int64_t>(args.n, 1), 1, 1};
  if (parts <= 1) return grid;
  const int64_t panels = CeilDiv(grid.columns, width);
  const int64_t blocks = CeilDiv(grid.rows, block);
  const bool copies_rows = args.rhs.packed != nullptr && args.lhs.k == 1 && args.out.col == 1 && blocks > 1;
  const int64_t want = 3 * parts;
  if (copies_rows) {
    double least = std::numeric_limits<double>::infinity();
    for (const int64_t tasks : {want, 2 * parts, parts}) {
      const auto [other, time] = SplitCopiedRows<T>(blocks, panels, parts, tasks);
      if (time >= least) continue;
      grid = other;
      least = time;
    }
    return grid;
  }
  const int64_t most = std::max<int64_t>(Kernels<T>().packed_columns / width, 1);  // panels that a tile's buffer holds
  int64_t per_task = std::clamp<int64_t>(panels / want, 1, most);
  if (panels < 4 * parts && whole_b && args.m >= args.n) per_task = std::min(panels, most);
  grid.columns = per_task * width;
  grid.column_tasks = CeilDiv(panels, per_task);
  if (grid.column_tasks < want && grid.column_tasks % parts != 0 && blocks > 1) {
    const int64_t rows = CeilDiv(blocks, std::min(blocks, CeilDiv(want, grid.column_tasks)));
    grid.rows = rows * block;
    grid.row_tasks = CeilDiv(blocks, rows);
  }
  return grid;
}

template <class T>
void Multiply(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  FindGemmKernel(Kernels<T>().rows, args.rhs.type)->multiply(args, m0, m1, n0, n1);
}

template <class T>
void RunTask(const GemmProblem<T>& args, const Grid& grid, int64_t task) {
  const int64_t m0 = task / grid.column_tasks * grid.rows;
  const int64_t n0 = task % grid.column_tasks * grid.columns;
  Multiply(args, m0, std::min(args.m, m0 + grid.rows), n0, std::min(args.n, n0 + grid.columns));
}

enum class VectorPath { kNone, kDots, kRowTimesMatrix };

/// One row or one column: bound by the reading of the matrix.
template <class T>
VectorPath ChooseVectorPath(const GemmProblem<T>& args) {
  if (args.m != 1 || args.rhs.packed != nullptr || args.rhs.source != nullptr) return VectorPath::kNone;
  if (args.rhs.k == 1 && args.lhs.k == 1 && args.n > 0) return VectorPath::kDots;
  if (args.rhs.col == 1) return VectorPath::kRowTimesMatrix;
  return VectorPath::kNone;
}

/// A GEMM with one column as one with one row: C' = B' A'. Only where C's column is contiguous.
template <class T>
bool SwapToRow(const GemmProblem<T>& args, GemmProblem<T>& swapped) {
  if (args.n != 1 || args.m == 1 || args.out.row != 1 || args.rhs.packed != nullptr || args.rhs.source != nullptr)
    return false;
  if (args.epilogue.residual != nullptr) return false;
  swapped = args;
  swapped.m = 1;
  swapped.n = args.m;
  swapped.lhs = {.data = args.rhs.data, .row = args.rhs.col, .k = args.rhs.k};
  swapped.rhs = {.data = args.lhs.data, .k = args.lhs.k, .col = args.lhs.row};
  swapped.epilogue.channels_are_rows = !args.epilogue.channels_are_rows;
  return true;
}

template <class T>
void RunVector(const GemmProblem<T>& args, VectorPath path, int64_t begin, int64_t end) {
  (path == VectorPath::kDots ? Kernels<T>().dots : Kernels<T>().row_times_matrix)(args, begin, end);
}

template <class T>
void PackSource(ThreadPool& threads, const GemmProblem<T>& args, T* packed) {
  const int64_t width = Kernels<T>().panel_width;
  constexpr int64_t kStep = 128;
  const int64_t steps = CeilDiv(args.k, kStep);
  threads.ParallelFor(CeilDiv(args.n, width) * steps, kStep * 6.0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / steps * width;
      const int64_t k = i % steps * kStep;
      args.rhs.source->Pack(k, std::min(kStep, args.k - k), n, std::min(width, args.n - n),
                            packed + n * args.k + k * width);
    }
  });
}

template <class T>
bool RoundsLhs(const GemmProblem<T>& args) {
  return args.rhs.type == PanelType::kPairs && args.lhs.pairs == nullptr;
}

/// A's rows are contiguous where it has to be rounded, to `workspace`.
void GemmOfPairs(ThreadPool& threads, const GemmProblem<float>& args, float* workspace) {
  if (!RoundsLhs(args)) return GemmBf16(threads, args);
  auto* pairs = reinterpret_cast<BFloat16*>(workspace);
  RoundToPairs(threads, args.lhs.data, args.m, args.k, pairs);
  GemmProblem<float> rounded = args;
  rounded.lhs = {.row = PairedSize(args.k), .pairs = pairs};
  GemmBf16(threads, rounded);
}

}  // namespace

template <class T>
int64_t GemmPanelWidth() {
  return Kernels<T>().panel_width;
}

template <class T>
size_t PackedGemmBSize(int64_t k, int64_t n) {
  const int64_t width = Kernels<T>().panel_width;
  return static_cast<size_t>(CheckedMul(CheckedMul(CeilDiv(n, width), width), k));
}

template <class T>
void PackGemmPanel(const T* b, int64_t b_k, int64_t b_col, int64_t k, int64_t width, T* packed) {
  Kernels<T>().pack(b, b_k, b_col, k, width, packed);
}

bool HasGemmPanels(PanelType type) {
  return FindGemmKernel(type == PanelType::kPairs ? GemmKernelsBf16() : GemmKernelsF32().rows, type) != nullptr;
}

void NarrowGemmPanel(PanelType type, const float* panel, int64_t rows, uint16_t* out) {
  (type == PanelType::kFloat16 ? GemmKernelsF32().to_float16 : GemmKernelsF32().to_bfloat16)(panel, rows, out);
}

template <class T>
void PackGemmB(ThreadPool& threads, int64_t k, int64_t n, const T* b, int64_t b_k, int64_t b_col, T* packed) {
  const int64_t width = Kernels<T>().panel_width;
  threads.ParallelFor(CeilDiv(n, width), static_cast<double>(k * width) * 0.5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Kernels<T>().pack(b + i * width * b_col, b_k, b_col, k, std::min(width, n - i * width), packed + i * width * k);
    }
  });
}

template <class T>
size_t GemmWorkspaceSize(const GemmProblem<T>& args, int threads) {
  if (RoundsLhs(args)) return static_cast<size_t>(CheckedMul(args.m, PairedSize(args.k)) / 2);
  if (args.rhs.packed != nullptr || threads <= 1) return 0;
  GemmProblem<T> swapped;
  if (ChooseVectorPath(args) != VectorPath::kNone || SwapToRow(args, swapped)) return 0;
  const Grid grid = SplitWork(args, threads, true);
  return grid.row_tasks > 1 ? PackedGemmBSize<T>(args.k, args.n) : 0;
}

template <class T>
void GemmSerial(const GemmProblem<T>& args) {
  if (args.m <= 0 || args.n <= 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (args.rhs.type == PanelType::kPairs)
      return FindGemmKernel(GemmKernelsBf16(), PanelType::kPairs)->multiply(args, 0, args.m, 0, args.n);
  }
  GemmProblem<T> swapped;
  const GemmProblem<T>& chosen = SwapToRow(args, swapped) ? swapped : args;
  const VectorPath path = ChooseVectorPath(chosen);
  if (path != VectorPath::kNone) {
    RunVector(chosen, path, 0, chosen.n);
  } else {
    Multiply(args, 0, args.m, 0, args.n);
  }
}

template <class T>
void Gemm(ThreadPool& threads, const GemmProblem<T>& args, T* workspace) {
  if (args.m <= 0 || args.n <= 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (args.rhs.type == PanelType::kPairs) return GemmOfPairs(threads, args, workspace);
  }
  const double ns = ProductNs(args);
  const bool serial = threads.num_threads() == 1 || ns < ThreadPool::kSerialBelowNs;
  GemmProblem<T> swapped;
  const GemmProblem<T>& chosen = SwapToRow(args, swapped) ? swapped : args;
  const VectorPath path = ChooseVectorPath(chosen);
  if (path != VectorPath::kNone) {
    const int64_t step = 64;
    const double cost = static_cast<double>(step) * static_cast<double>(chosen.k) * 0.1;
    threads.ParallelFor(CeilDiv(chosen.n, step), cost, [&](int64_t begin, int64_t end) {
      RunVector(chosen, path, begin * step, std::min(chosen.n, end * step));
    });
    return;
  }
  if (serial) {
    Multiply(args, 0, args.m, 0, args.n);
    return;
  }
  const Grid grid = SplitWork(args, threads.num_threads(), args.rhs.packed != nullptr || workspace != nullptr);
  GemmProblem<T> packed = args;
  if (grid.row_tasks > 1 && args.rhs.packed == nullptr && workspace != nullptr) {
    if (args.rhs.source != nullptr) {
      PackSource(threads, args, workspace);
    } else {
      PackGemmB(threads, args.k, args.n, args.rhs.data, args.rhs.k, args.rhs.col, workspace);
    }
    packed.rhs.packed = workspace;
  }
  threads.ParallelFor(grid.tasks(), ns / static_cast<double>(grid.tasks()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) RunTask(packed, grid, i);
  });
}

template <class T>
void GemmBatch(ThreadPool& threads, int64_t count, const GemmProblem<T>& shape,
               FunctionRef<GemmProblem<T>(int64_t)> problem) {
  if (shape.m <= 0 || shape.n <= 0 || count <= 0) return;
  // Whole problems where there are enough of them; a problem is split only to keep every thread busy.
  const int64_t parts = count >= 4 * threads.num_threads() || threads.num_threads() == 1 || shape.m == 1 || shape.n == 1
                            ? 1
                            : CeilDiv(2 * threads.num_threads(), count);
  const Grid grid = SplitWork(shape, parts, shape.rhs.packed != nullptr);
  const double cost = ProductNs(shape) / static_cast<double>(grid.tasks());
  threads.ParallelFor(count * grid.tasks(), cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const GemmProblem<T> args = problem(i / grid.tasks());
      if (grid.tasks() == 1) {
        GemmSerial(args);
      } else {
        RunTask(args, grid, i % grid.tasks());
      }
    }
  });
}

#define TESSERA_INSTANTIATE(T)                                                               \
  template int64_t GemmPanelWidth<T>();                                                      \
  template void PackGemmPanel<T>(const T*, int64_t, int64_t, int64_t, int64_t, T*);          \
  template size_t PackedGemmBSize<T>(int64_t, int64_t);                                      \
  template void PackGemmB<T>(ThreadPool&, int64_t, int64_t, const T*, int64_t, int64_t, T*); \
  template size_t GemmWorkspaceSize<T>(const GemmProblem<T>&, int);                          \
  template void Gemm<T>(ThreadPool&, const GemmProblem<T>&, T*);                             \
  template void GemmSerial<T>(const GemmProblem<T>&);                                        \
  template void GemmBatch<T>(ThreadPool&, int64_t, const GemmProblem<T>&, FunctionRef<GemmProblem<T>(int64_t)>);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::cpu
