// Whether the chooser of GEMMs (kernels/gemm/choose.h) picks the fastest: paths and grids of a set of problems of floats
// are timed beside the pick, and picks that are more than 5 % slower than the best are listed.
//
//   bench_gemm_chooser [--filter TEXT] [--threads N] [--ms N]

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "kernels/gemm/choose.h"
#include "kernels/gemm/gemm_kernels.h"
#include "pick_summary.h"
#include "runtime/threads/thread_pools.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string filter;
  int threads = 1;
  int ms = 60;  // that a candidate runs at most
};

enum class Rhs : uint8_t { kRows, kColumns, kPacked };

struct Problem {
  int64_t m, n, k;
  Rhs rhs;

  std::string Text() const {
    constexpr std::string_view kForms[] = {"", ", transposed", ", packed"};
    return fmt::format("{} x {} x {}{}", m, n, k, kForms[static_cast<size_t>(rhs)]);
  }
};

/// Rows of decoders, heads of attention, layers of transformers and classifiers, and images as matrices.
std::vector<Problem> Problems() {
  std::vector<Problem> problems;
  for (const Rhs rhs : {Rhs::kRows, Rhs::kColumns, Rhs::kPacked}) {
    for (const int64_t m : {1, 2, 4, 8, 32, 128, 512}) {
      for (const auto& [n, k] :
           {std::pair(1, 1024), std::pair(8, 64), std::pair(64, 64), std::pair(128, 64), std::pair(64, 128),
            std::pair(1000, 512), std::pair(768, 768), std::pair(3072, 768), std::pair(768, 3072), std::pair(196, 384)}) {
        problems.push_back({m, n, k, rhs});
      }
    }
  }
  return problems;
}

struct Candidate {
  std::string name;
  cpu::GemmChoice choice;
  double ns = std::numeric_limits<double>::infinity();
};

std::string NameOf(const cpu::GemmChoice& choice) {
  std::string name = fmt::format("{} in {} x {}", NameOf(choice.path), choice.grid.row_tasks, choice.grid.column_tasks);
  if (choice.transposed) name += ", transposed";
  if (choice.packs_rhs) name += ", packed first";
  return name;
}

/// The pick, and what else could have been: no more tasks than one, tiles by columns alone, tiles by rows too, B packed
/// first or by each task.
std::vector<Candidate> CandidatesOf(const cpu::GemmProblem<float>& problem, int threads) {
  std::vector<Candidate> candidates;
  const auto add = [&](const cpu::GemmChoice& choice) {
    const std::string name = NameOf(choice);
    const auto same = [&](const Candidate& other) { return other.name == name; };
    if (std::none_of(candidates.begin(), candidates.end(), same)) candidates.push_back({name, choice});
  };
  add(cpu::ChooseGemm(problem, threads, true));
  add(cpu::ChooseGemmPath(problem));
  add(cpu::ChooseGemm(problem, threads, false));
  cpu::GemmChoice tiles;
  tiles.grid = {problem.m, problem.n, 1, 1};
  add(tiles);
  const int64_t width = cpu::GemmPanelWidth<float>(), block = cpu::GemmKernelsF32().row_block;
  for (const int64_t parts : {threads, 3 * threads}) {
    tiles.grid.columns = (problem.n / width / parts + 1) * width;
    tiles.grid.column_tasks = (problem.n - 1) / tiles.grid.columns + 1;
    add(tiles);
    if (problem.rhs.packed != nullptr) {
      cpu::GemmChoice rows;
      rows.grid = {(problem.m / block / parts + 1) * block, problem.n, 1, 1};
      rows.grid.row_tasks = (problem.m - 1) / rows.grid.rows + 1;
      add(rows);
    }
  }
  return candidates;
}

/// In turn: what else the machine does slows all of them.
PickResult Race(const Problem& sizes, const Arguments& arguments) {
  const auto pool = arguments.threads == 1 ? MakeSerialPool() : MakeWorkerPool(arguments.threads);
  const RunScope scope(*pool);
  std::vector<float> a(static_cast<size_t>(sizes.m * sizes.k), 0.5f), b(static_cast<size_t>(sizes.n * sizes.k), 0.25f);
  std::vector<float> c(static_cast<size_t>(sizes.m * sizes.n)), workspace(cpu::PackedGemmBSize<float>(sizes.k, sizes.n));
  std::vector<float> packed(workspace.size());
  cpu::GemmProblem<float> problem{.m = sizes.m, .n = sizes.n, .k = sizes.k};
  problem.lhs = {.data = a.data(), .row = sizes.k};
  problem.out = {.data = c.data(), .row = sizes.n};
  switch (sizes.rhs) {
    case Rhs::kRows: problem.rhs = {.data = b.data(), .k = sizes.n}; break;
    case Rhs::kColumns: problem.rhs = {.data = b.data(), .k = 1, .col = sizes.k}; break;
    case Rhs::kPacked:
      cpu::PackGemmB<float>(*pool, sizes.k, sizes.n, b.data(), sizes.n, 1, packed.data());
      problem.rhs = {.packed = packed.data()};
  }
  std::vector<Candidate> candidates = CandidatesOf(problem, arguments.threads);
  constexpr int kFewestTurns = 5, kTogether = 3;
  const auto begin = Clock::now();
  const auto enough = std::chrono::milliseconds(arguments.ms) * candidates.size();
  for (int turn = 0; turn < kFewestTurns || Clock::now() - begin < enough; ++turn) {
    for (Candidate& candidate : candidates) {
      for (int i = 0; i < kTogether; ++i) {
        const auto start = Clock::now();
        cpu::RunGemm(*pool, problem, candidate.choice, workspace.data());
        candidate.ns = std::min(candidate.ns, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
      }
    }
  }
  PickResult result;
  for (const Candidate& candidate : candidates) result.Add(candidate.name, candidate.ns);
  return result;
}

void Run(const Arguments& arguments) {
  PickSummary summary;
  for (const Problem& problem : Problems()) {
    if (problem.Text().find(arguments.filter) == std::string::npos) continue;
    summary.Add(problem.Text(), Race(problem, arguments));
  }
  summary.Print();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::Arguments arguments;
  CLI::App app("Times other ways to compute GEMMs and lists picks that are more than 5 % slower than the best");
  app.add_option("--filter", arguments.filter, "Only problems whose text has this");
  app.add_option("--threads", arguments.threads)->check(CLI::PositiveNumber);
  app.add_option("--ms", arguments.ms, "Milliseconds for each candidate");
  CLI11_PARSE(app, argc, argv);
  tessera::Run(arguments);
  return 0;
}
