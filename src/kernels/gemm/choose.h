#pragma once

// How a GEMM is computed and shared among threads: the only place that decides it. Operators say what is to be multiplied
// (GemmProblem, GemmU8S8Problem, NBitsWeights), gemm.cpp, gemm_u8s8.cpp and nbits_gemm.cpp do what was chosen,
// bench_gemm_chooser times the alternatives.
//
// What a constant matrix is packed as follows from its numbers and from the processor, at load: PanelTypeFor
// (floats), PackWeightsS8 (bytes), GemmBf16Pays (both operands in bfloat16).

#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_u8s8.h"
#include "kernels/gemm/nbits/nbits.h"

namespace tessera::cpu {

enum class GemmPath : uint8_t {
  kTiles,           // register tiles over panels of B
  kDots,            // one row: its dot products with B's columns, which are contiguous
  kRowTimesMatrix,  // one row: multiples of B's contiguous rows are added up
};

std::string_view NameOf(GemmPath path);

/// Rows and columns of C that one task computes.
struct GemmGrid {
  int64_t rows = 1, columns = 1;
  int64_t row_tasks = 1, column_tasks = 1;
  int64_t tasks() const { return row_tasks * column_tasks; }
};

struct GemmChoice {
  GemmPath path = GemmPath::kTiles;
  bool transposed = false;  // of one column: C' = B' A' (TransposedGemm), which has one row
  bool packs_rhs = false;   // B is packed as a whole first, for tasks of different rows
  GemmGrid grid;
  double task_ns = 0;  // estimated, of a task
};

/// The path alone, with `transposed`, on the calling thread.
template <class T>
GemmChoice ChooseGemmPath(const GemmProblem<T>& problem);
/// `may_pack`: there is memory for a whole B.
template <class T>
GemmChoice ChooseGemm(const GemmProblem<T>& problem, int threads, bool may_pack);
/// Of `count` GEMMs like this one: whole ones where there are enough of them to keep every thread busy, else the grid that
/// each is divided by.
template <class T>
GemmChoice ChooseGemmOfBatch(const GemmProblem<T>& problem, int64_t count, int threads);

/// In bfloat16, whose kernel has tiles of `rows` by panels of `columns`.
GemmChoice ChooseGemmBf16(const GemmProblem<float>& problem, int64_t rows, int64_t columns, int threads);

/// The GEMM of one column as one of one row, where a choice says so.
template <class T>
GemmProblem<T> TransposedGemm(const GemmProblem<T>& problem);

/// A task is one of `row_tasks` parts of the rows by one of `panel_tasks` equal parts of the weights' panels.
struct PanelTasks {
  int64_t rows = 1;  // of a task at most
  int64_t row_tasks = 1, panel_tasks = 1;
  double task_ns = 0;  // estimated

  int64_t tasks() const { return row_tasks * panel_tasks; }
};

/// Of bytes, in rows of so many. `transposed`: the weights have outliers, which are multiplied by transposed rows.
PanelTasks ChooseU8S8Tasks(const PackedWeightsS8& weights, int64_t rows, int64_t row_bytes, bool transposed, int threads);

/// Of weights that were packed for tiles (PackedWeightsS8::tiles), whose records dot products read, too.
enum class U8S8Path : uint8_t {
  kDots,   // a panel's few rows or columns stay in registers
  kTiles,  // AMX
};

/// Of rows by so many columns, over `groups` of four bytes.
U8S8Path ChooseU8S8Path(int64_t rows, int64_t groups, int64_t columns);
/// Of rows of two limbs each by `panels` of weights: dot products become floats in registers (AddLimbGemm), the sums of
/// tiles in memory (AddScaled).
U8S8Path ChooseLimbPath(int64_t rows, int64_t groups, int64_t panels);

enum class NBitsPath : uint8_t {
  kRows,             // few rows of floats, by weights that become floats in registers
  kQuantizedRows,    // few rows of integers (quantized.h), in the order that the dot products of bytes take
  kQuantizedPanels,  // many of them: weights are put into panels of bytes
  kFloatPanels,      // many rows of floats: weights are put into panels of floats
};

struct NBitsChoice {
  NBitsPath path;
  int limbs;  // bytes of an integer; 0: floats

  bool quantized() const { return limbs > 0; }
  bool few() const { return path == NBitsPath::kRows || path == NBitsPath::kQuantizedRows; }
};

/// `to_bytes`: the model allows A to be rounded to bytes (accuracy_level 4). `exact`: integers can stand for A's floats,
/// which only quantizing them tells: false chooses once more.
NBitsChoice ChooseNBitsGemm(const NBitsWeights& weights, int64_t rows, bool to_bytes, bool exact = true);

/// Of kQuantizedPanels. Each task makes its panels of bytes: rows are divided only where there are few.
PanelTasks ChooseNBitsTasks(const NBitsWeights& weights, int64_t rows, int limbs, int threads);

extern template GemmChoice ChooseGemmPath<float>(const GemmProblem<float>&);
extern template GemmChoice ChooseGemmPath<double>(const GemmProblem<double>&);
extern template GemmChoice ChooseGemm<float>(const GemmProblem<float>&, int, bool);
extern template GemmChoice ChooseGemm<double>(const GemmProblem<double>&, int, bool);
extern template GemmChoice ChooseGemmOfBatch<float>(const GemmProblem<float>&, int64_t, int);
extern template GemmChoice ChooseGemmOfBatch<double>(const GemmProblem<double>&, int64_t, int);
extern template GemmProblem<float> TransposedGemm<float>(const GemmProblem<float>&);
extern template GemmProblem<double> TransposedGemm<double>(const GemmProblem<double>&);

}  // namespace tessera::cpu
