#pragma once

// Timing at load (configuration entry "session.tuning"): which providers a model runs faster without, and which of several
// ways to compute its nodes are fastest on this machine. Sessions are made to be timed, with inputs that are made up.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/algorithm.h"
#include "graph/graph.h"
#include "partition/partition.h"
#include "runtime/plan/plan.h"
#include "runtime/profile/implementation_notes.h"
#include "session/session_state.h"

namespace tessera {

/// What timing found.
struct Tuning {
  LeftOutProviders left_out;
  std::map<NodeIndex, std::string> algorithms;  // of nodes of the main graph, for NodeHints::algorithm
};

/// What a session that is timed leaves out and computes otherwise, and what each kernel of its main graph took.
class Trial {
 public:
  /// `algorithm`: of all nodes that have several; empty: the kernels' own choice.
  Trial(LeftOutProviders left_out, std::string_view algorithm) : left_out_(std::move(left_out)), algorithm_(algorithm) {}
  /// Each node that has several is computed by the one at this place of their ranking, 0 for the best.
  static Trial OfPlace(LeftOutProviders left_out, size_t place) {
    Trial trial(std::move(left_out), "");
    trial.place_ = place;
    return trial;
  }

  const LeftOutProviders& left_out() const noexcept { return left_out_; }
  /// What nodes are asked to be computed by, for NodeHints::algorithm.
  std::map<NodeIndex, std::string> AlgorithmsFor(const Graph& graph);
  const std::map<NodeIndex, std::string>& algorithms() const noexcept { return algorithms_; }
  /// How many the node with most of them has.
  size_t most_algorithms() const noexcept { return most_algorithms_; }
  /// The graph whose nodes are noted.
  void NoteImplementationsOf(const Graph& graph) noexcept { notes_.SetGraph(graph); }
  /// Where kernels are made that are to be timed one implementation against another; else null.
  ImplementationNotes* notes() noexcept { return times_library() ? &notes_ : nullptr; }
  bool times_library() const noexcept { return algorithm_ == kTimedAlgorithm; }
  const std::map<NodeIndex, std::string>& timed() const noexcept { return notes_.chosen(); }
  /// Those that have several algorithms, sorted.
  const std::vector<NodeIndex>& nodes() const noexcept { return nodes_; }

  using Times = std::map<std::vector<NodeIndex>, double>;  // by the nodes that a kernel computes; ns, fastest run

  /// Before the plan takes the partition over.
  void NoteUnits(const Graph& graph, const GraphPartition& partition);
  /// Puts clocks around the plan's kernels.
  void Watch(Plan& plan);
  Times times() const;

 private:
  class TimedKernel;
  LeftOutProviders left_out_;
  std::string algorithm_;
  std::optional<size_t> place_;
  std::vector<NodeIndex> nodes_;
  std::map<NodeIndex, std::string> algorithms_;
  size_t most_algorithms_ = 0;
  ImplementationNotes notes_;
  std::map<const Node*, std::vector<NodeIndex>> units_;
  std::vector<std::shared_ptr<TimedKernel>> kernels_;
};

void SetAlgorithms(Graph& graph, const std::map<NodeIndex, std::string>& algorithms);

/// Makes sessions like `session` and times them, within the limits of its load. What fails leaves everything as it is
/// without tuning, with a warning.
Tuning Tune(const Session::State& session, const LoadLimits& limits, const Session::State::Origin& origin,
            const Session::State::LoadFunction& load);

}  // namespace tessera
