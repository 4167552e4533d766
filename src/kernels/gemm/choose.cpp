#include "kernels/gemm/choose.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/rounding.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/nbits/quantized.h"
#include "kernels/gemm/outliers.h"
#include "kernels/gemm/tile_unit.h"
#include "tessera/provider/thread_pool.h"

namespace tessera::cpu {
namespace {

/// Nanoseconds of one multiply-add on one core, roughly: 16 per cycle at 2.5 GHz for f32.
template <class T>
constexpr double kMulAddNs = sizeof(T) == 4 ? 0.025 : 0.05;
/// And of an element of B that is read, which bounds GEMMs of a row or two: 80 GB/s.
template <class T>
constexpr double kReadNs = sizeof(T) * 0.0125;

/// Of a whole GEMM on one core. Fewer columns than a vector has take as long as one.
template <class T>
double GemmNs(const GemmProblem<T>& args) {
  constexpr int64_t kVector = 32 / sizeof(T);
  const double weights = static_cast<double>(std::max(args.n, kVector)) * static_cast<double>(args.k);
  return weights * std::max(static_cast<double>(args.m) * kMulAddNs<T>, kReadNs<T>);
}

/// Where every task copies the rows of A that it reads, and streams B once for every `copied_rows` of them: of grids of
/// about `want` tasks the one for which that and uneven shares are fastest, and its time.
template <class T>
std::pair<GemmGrid, double> SplitCopiedRows(int64_t blocks, int64_t panels, int64_t parts, int64_t want) {
  constexpr double kWait = 0.1;  // of a task, for a thread that others hold up
  const GemmKernels<T>& kernels = GemmKernelsOf<T>();
  GemmGrid best;
  double least = 0;
  // In growing steps, so that many threads do not make this long.
  for (int64_t row_tasks = 1; row_tasks <= std::min(blocks, want); row_tasks += std::max<int64_t>(row_tasks / 2, 1)) {
    const int64_t task_blocks = CeilDiv(blocks, row_tasks);
    const int64_t task_panels = CeilDiv(panels, std::min(panels, CeilDiv(want, row_tasks)));
    const GemmGrid grid{task_blocks * kernels.row_block, task_panels * kernels.panel_width, CeilDiv(blocks, task_blocks),
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
GemmGrid SplitWork(const GemmProblem<T>& args, int64_t parts, bool whole_b) {
  const int64_t width = GemmKernelsOf<T>().panel_width;
  const int64_t block = GemmKernelsOf<T>().row_block;
  GemmGrid grid{std::max<int64_t>(args.m, 1), std::max<int64_t>(args.n, 1), 1, 1};
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
  const int64_t most =
      std::max<int64_t>(GemmKernelsOf<T>().packed_columns / width, 1);  // panels that a tile's buffer holds
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

/// Columns of a task of one row, which is bound by the reading of B, and what an element of B costs it.
constexpr int64_t kVectorColumns = 64;
constexpr double kVectorNs = 0.1;

/// Nanoseconds of GEMMs of bytes by tiles and by dot products: to begin, of a panel, of one of its rows; of a tile, and
/// more of many rows; of a group of a vector, of so many rows at least in both of a panel's vectors.
struct U8S8Costs {
  double tiles, tile_panel, tile_row, tile, tile_product;
  double dot_panel, dot_row, dot_group, fewest_dots;
};

/// Fitted on Sapphire Rapids: to GEMMs of 1 to 128 rows, 8 to 256 columns and k of 8 to 1024; of limbs, with what makes
/// floats of their sums.
constexpr U8S8Costs kU8S8Costs = {100, 38, 2.8, 7, 0.55, 20, 2.4, 0.17, 8.8};
constexpr U8S8Costs kLimbCosts = {400, 50, 8.6, 7, 0.55, 20, 3, 0.17, 10};

/// Of `panels` of so many vectors each by rows that are made of `operands` rows of bytes.
U8S8Path FasterU8S8Path(const U8S8Costs& costs, double rows, double operands, int64_t groups, double panels,
                        double vectors) {
  const double dots =
      vectors * costs.dot_group * std::max(operands, costs.fewest_dots / vectors) * static_cast<double>(groups);
  const double tiles =
      vectors * std::max(costs.tile, costs.tile_product * operands) * static_cast<double>(CeilDiv(groups, kTileGroups));
  return costs.tiles + panels * (costs.tile_panel + costs.tile_row * rows + tiles) <
                 panels * (costs.dot_panel + costs.dot_row * rows + dots)
             ? U8S8Path::kTiles
             : U8S8Path::kDots;
}

/// Rows of A by weights of a few bits: up to so many read the weights as they are stored, of integers of one byte fewer,
/// because making panels of bytes costs less.
constexpr int64_t kFewRows = 12, kFewRowsOfBytes = 8;

template <class T>
bool IsSingleColumn(const GemmProblem<T>& problem) {
  return problem.n == 1 && problem.m != 1 && problem.out.row == 1 && problem.rhs.packed == nullptr &&
         problem.rhs.source == nullptr && problem.epilogue.residual == nullptr;
}

template <class T>
GemmPath PathOfRow(const GemmProblem<T>& problem) {
  if (problem.m != 1 || problem.rhs.packed != nullptr || problem.rhs.source != nullptr) return GemmPath::kTiles;
  if (problem.rhs.k == 1 && problem.lhs.k == 1 && problem.n > 0) return GemmPath::kDots;
  return problem.rhs.col == 1 ? GemmPath::kRowTimesMatrix : GemmPath::kTiles;
}

template <class T>
GemmChoice ChooseTiles(const GemmProblem<T>& problem, int64_t parts, bool may_pack) {
  GemmChoice choice{.grid = SplitWork(problem, parts, problem.rhs.packed != nullptr || may_pack)};
  choice.packs_rhs = choice.grid.row_tasks > 1 && problem.rhs.packed == nullptr && may_pack;
  choice.task_ns = GemmNs(problem) / static_cast<double>(choice.grid.tasks());
  return choice;
}

}  // namespace

std::string_view NameOf(GemmPath path) {
  switch (path) {
    case GemmPath::kTiles: return "tiles";
    case GemmPath::kDots: return "dots";
    case GemmPath::kRowTimesMatrix: return "row times matrix";
  }
  return "";
}

template <class T>
GemmProblem<T> TransposedGemm(const GemmProblem<T>& problem) {
  GemmProblem<T> transposed = problem;
  transposed.m = 1;
  transposed.n = problem.m;
  transposed.lhs = {.data = problem.rhs.data, .row = problem.rhs.col, .k = problem.rhs.k};
  transposed.rhs = {.data = problem.lhs.data, .k = problem.lhs.k, .col = problem.lhs.row};
  transposed.epilogue.channels_are_rows = !problem.epilogue.channels_are_rows;
  return transposed;
}

template <class T>
GemmChoice ChooseGemmPath(const GemmProblem<T>& problem) {
  GemmChoice choice;
  choice.grid = {problem.m, problem.n, 1, 1};
  if (IsSingleColumn(problem)) {
    choice.path = PathOfRow(TransposedGemm(problem));
    choice.transposed = choice.path != GemmPath::kTiles;
    if (choice.transposed) std::swap(choice.grid.rows, choice.grid.columns);
  } else {
    choice.path = PathOfRow(problem);
  }
  return choice;
}

template <class T>
GemmChoice ChooseGemm(const GemmProblem<T>& problem, int threads, bool may_pack) {
  GemmChoice choice = ChooseGemmPath(problem);
  if (choice.path == GemmPath::kTiles) {
    const bool alone = threads == 1 || GemmNs(problem) < ThreadPool::kSerialBelowNs;
    return ChooseTiles(problem, alone ? 1 : threads, may_pack);
  }
  choice.grid.column_tasks = CeilDiv(choice.grid.columns, kVectorColumns);
  choice.grid.columns = kVectorColumns;
  choice.task_ns = static_cast<double>(kVectorColumns) * static_cast<double>(problem.k) * kVectorNs;
  return choice;
}

template <class T>
GemmChoice ChooseGemmOfBatch(const GemmProblem<T>& problem, int64_t count, int threads) {
  const bool whole = count >= 4 * int64_t{threads} || threads == 1 || problem.m == 1 || problem.n == 1;
  return ChooseTiles(problem, whole ? 1 : CeilDiv(2 * int64_t{threads}, count), false);
}

GemmChoice ChooseGemmBf16(const GemmProblem<float>& problem, int64_t rows, int64_t columns, int threads) {
  constexpr double kBf16MulAddNs = 0.01;
  constexpr int64_t kRowsToRead = 4;  // their GEMMs are bound by reading B
  const double ns =
      kBf16MulAddNs * static_cast<double>(std::max(problem.m, kRowsToRead)) * static_cast<double>(problem.n * problem.k);
  GemmChoice choice{.grid = {.rows = problem.m, .columns = problem.n}, .task_ns = ns};
  if (threads == 1 || ns < ThreadPool::kSerialBelowNs) return choice;
  GemmGrid& grid = choice.grid;
  const int64_t want = problem.m <= rows ? threads : 3 * threads, panels = CeilDiv(problem.n, columns);
  grid.columns = CeilDiv(panels, std::min(panels, want)) * columns;
  grid.column_tasks = CeilDiv(problem.n, grid.columns);
  const int64_t blocks = CeilDiv(problem.m, rows);
  grid.rows = CeilDiv(blocks, std::min(blocks, CeilDiv(want, grid.column_tasks))) * rows;
  grid.row_tasks = CeilDiv(problem.m, grid.rows);
  choice.task_ns = ns / static_cast<double>(grid.tasks());
  return choice;
}

PanelTasks ChooseU8S8Tasks(const PackedWeightsS8& weights, int64_t rows, int64_t row_bytes, bool transposed, int threads) {
  constexpr int64_t kNearBytes = 192 << 10;  // of rows that stay in the second cache while panels stream
  const int64_t panels = CeilDiv(weights.n, weights.width), want = threads == 1 ? 1 : 4 * threads;
  // Tiles of rows are whole, but for the last.
  const int64_t tile = weights.tiles ? 2 * kTileRows : 12, most_rows = std::max(kNearBytes / row_bytes, 2 * tile);
  PanelTasks tasks{.panel_tasks = std::min(panels, want)};
  tasks.row_tasks = std::max(CeilDiv(rows, most_rows), std::min(CeilDiv(want, tasks.panel_tasks), CeilDiv(rows, tile)));
  tasks.rows = RoundUp(CeilDiv(rows, tasks.row_tasks), transposed ? 3 * kTransposedRows : tile);
  const double work =
      static_cast<double>(rows) * static_cast<double>(weights.n) * static_cast<double>(weights.k) * MultiplyNsU8S8();
  tasks.task_ns = work / static_cast<double>(tasks.tasks());
  return tasks;
}

U8S8Path ChooseU8S8Path(int64_t rows, int64_t groups, int64_t columns) {
  const double panels = std::max(static_cast<double>(columns) / (2 * kTileColumns), 1.0);
  const auto of_rows = static_cast<double>(rows);
  return FasterU8S8Path(kU8S8Costs, of_rows, of_rows, groups, panels, columns > kTileColumns ? 2 : 1);
}

U8S8Path ChooseLimbPath(int64_t rows, int64_t groups, int64_t panels) {
  const auto of_rows = static_cast<double>(rows);
  return FasterU8S8Path(kLimbCosts, of_rows, 2 * of_rows, groups, static_cast<double>(panels), 2);
}

NBitsChoice ChooseNBitsGemm(const NBitsWeights& weights, int64_t rows, bool to_bytes, bool exact) {
  const auto quantized = [rows](int limbs, int64_t few) {
    return NBitsChoice{rows <= few ? NBitsPath::kQuantizedRows : NBitsPath::kQuantizedPanels, limbs};
  };
  if (to_bytes) return quantized(kByteLimbs, kFewRowsOfBytes);
  if (exact && MultipliesNBitsByLimbs(weights) && (rows <= kFewRows || weights.bits == 4))
    return quantized(kFloatLimbs, kFewRows);
  return {rows <= kFewRows ? NBitsPath::kRows : NBitsPath::kFloatPanels, 0};
}

PanelTasks ChooseNBitsTasks(const NBitsWeights& weights, int64_t rows, int limbs, int threads) {
  constexpr int64_t kRowsOfTask = 24;  // that pay for a panel
  const int64_t width = QuantizedNBitsWidth(), panels = (weights.n - 1) / width + 1, team = threads;
  const int64_t parts = panels >= 2 * team ? 1 : std::min((rows - 1) / kRowsOfTask + 1, team);
  const auto work = static_cast<double>(NBitsGroups(weights)) * (32 / weights.bits);
  return {.rows = CeilDiv(rows, parts),
          .row_tasks = parts,
          .panel_tasks = panels,
          .task_ns = work * static_cast<double>(width) * (0.1 + 0.01 * static_cast<double>(limbs * rows / parts))};
}

#define TESSERA_INSTANTIATE(T)                                         \
  template GemmProblem<T> TransposedGemm<T>(const GemmProblem<T>&);    \
  template GemmChoice ChooseGemmPath<T>(const GemmProblem<T>&);        \
  template GemmChoice ChooseGemm<T>(const GemmProblem<T>&, int, bool); \
  template GemmChoice ChooseGemmOfBatch<T>(const GemmProblem<T>&, int64_t, int);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::cpu
