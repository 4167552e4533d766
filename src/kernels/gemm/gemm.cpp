// Computes a GEMM as it was chosen (choose.h): packs B where that is wanted, and gives each thread its tasks.

#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>

#include "base/checked.h"
#include "base/rounding.h"
#include "kernels/gemm/choose.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/gemm_kernels.h"

namespace tessera::cpu {
namespace {

template <class T>
void Multiply(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  FindGemmKernel(GemmKernelsOf<T>().rows, args.rhs.type)->multiply(args, m0, m1, n0, n1);
}

template <class T>
void RunTask(const GemmProblem<T>& args, const GemmChoice& choice, int64_t task) {
  const GemmGrid& grid = choice.grid;
  const int64_t m0 = task / grid.column_tasks * grid.rows;
  const int64_t n0 = task % grid.column_tasks * grid.columns;
  const int64_t m1 = std::min(args.m, m0 + grid.rows), n1 = std::min(args.n, n0 + grid.columns);
  switch (choice.path) {
    case GemmPath::kTiles: return Multiply(args, m0, m1, n0, n1);
    case GemmPath::kDots: return GemmKernelsOf<T>().dots(args, n0, n1);
    case GemmPath::kRowTimesMatrix: return GemmKernelsOf<T>().row_times_matrix(args, n0, n1);
  }
}

template <class T>
void PackSource(ThreadPool& threads, const GemmProblem<T>& args, T* packed) {
  const int64_t width = GemmKernelsOf<T>().panel_width;
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
  return GemmKernelsOf<T>().panel_width;
}

template <class T>
size_t PackedGemmBSize(int64_t k, int64_t n) {
  const int64_t width = GemmKernelsOf<T>().panel_width;
  return static_cast<size_t>(CheckedMul(CheckedMul(CeilDiv(n, width), width), k));
}

template <class T>
void PackGemmPanel(const T* b, int64_t b_k, int64_t b_col, int64_t k, int64_t width, T* packed) {
  GemmKernelsOf<T>().pack(b, b_k, b_col, k, width, packed);
}

bool HasGemmPanels(PanelType type) {
  return FindGemmKernel(type == PanelType::kPairs ? GemmKernelsBf16() : GemmKernelsF32().rows, type) != nullptr;
}

void NarrowGemmPanel(PanelType type, const float* panel, int64_t rows, uint16_t* out) {
  (type == PanelType::kFloat16 ? GemmKernelsF32().to_float16 : GemmKernelsF32().to_bfloat16)(panel, rows, out);
}

template <class T>
void PackGemmB(ThreadPool& threads, int64_t k, int64_t n, const T* b, int64_t b_k, int64_t b_col, T* packed) {
  const int64_t width = GemmKernelsOf<T>().panel_width;
  threads.ParallelFor(CeilDiv(n, width), static_cast<double>(k * width) * 0.5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      GemmKernelsOf<T>().pack(b + i * width * b_col, b_k, b_col, k, std::min(width, n - i * width), packed + i * width * k);
    }
  });
}

template <class T>
size_t GemmWorkspaceSize(const GemmProblem<T>& args, int threads) {
  if (RoundsLhs(args)) return static_cast<size_t>(CheckedMul(args.m, PairedSize(args.k)) / 2);
  if (args.rhs.packed != nullptr || threads <= 1) return 0;
  return ChooseGemm(args, threads, true).packs_rhs ? PackedGemmBSize<T>(args.k, args.n) : 0;
}

template <class T>
void GemmSerial(const GemmProblem<T>& args) {
  if (args.m <= 0 || args.n <= 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (args.rhs.type == PanelType::kPairs)
      return FindGemmKernel(GemmKernelsBf16(), PanelType::kPairs)->multiply(args, 0, args.m, 0, args.n);
  }
  const GemmChoice choice = ChooseGemmPath(args);
  if (choice.transposed) return RunTask(TransposedGemm(args), choice, 0);
  RunTask(args, choice, 0);
}

template <class T>
void Gemm(ThreadPool& threads, const GemmProblem<T>& args, T* workspace) {
  if (args.m <= 0 || args.n <= 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (args.rhs.type == PanelType::kPairs) return GemmOfPairs(threads, args, workspace);
  }
  RunGemm(threads, args, ChooseGemm(args, threads.num_threads(), workspace != nullptr), workspace);
}

template <class T>
void RunGemm(ThreadPool& threads, const GemmProblem<T>& args, const GemmChoice& choice, T* workspace) {
  if (choice.grid.tasks() == 1 && !choice.transposed) return RunTask(args, choice, 0);
  GemmProblem<T> problem = choice.transposed ? TransposedGemm(args) : args;
  if (choice.packs_rhs) {
    if (args.rhs.source != nullptr) {
      PackSource(threads, args, workspace);
    } else {
      PackGemmB(threads, args.k, args.n, args.rhs.data, args.rhs.k, args.rhs.col, workspace);
    }
    problem.rhs.packed = workspace;
  }
  threads.ParallelFor(choice.grid.tasks(), choice.task_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) RunTask(problem, choice, i);
  });
}

template <class T>
void GemmBatch(ThreadPool& threads, int64_t count, const GemmProblem<T>& shape,
               FunctionRef<GemmProblem<T>(int64_t)> problem) {
  if (shape.m <= 0 || shape.n <= 0 || count <= 0) return;
  const GemmChoice choice = ChooseGemmOfBatch(shape, count, threads.num_threads());
  const int64_t tasks = choice.grid.tasks();
  threads.ParallelFor(count * tasks, choice.task_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const GemmProblem<T> args = problem(i / tasks);
      if (tasks == 1) {
        GemmSerial(args);
      } else {
        RunTask(args, choice, i % tasks);
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
  template void RunGemm<T>(ThreadPool&, const GemmProblem<T>&, const GemmChoice&, T*);       \
  template void GemmBatch<T>(ThreadPool&, int64_t, const GemmProblem<T>&, FunctionRef<GemmProblem<T>(int64_t)>);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::cpu
