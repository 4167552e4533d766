#pragma once

// Kernels that could not be compiled or made while a plan was built: their nodes go to the next provider.

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace tessera {

/// Of a session that is being made.
class FailedKernels {
 public:
  /// `line`: for the log. Thread-safe; the first reason stays.
  void Add(const Graph& graph, NodeIndex node, int16_t provider, const std::string& reason, std::string line) {
    const std::lock_guard lock(mutex_);
    if (reasons_.try_emplace({&graph, node, provider}, reason).second) lines_.push_back(std::move(line));
  }
  /// Why the provider does not get the node; null where nothing failed.
  const std::string* Find(const Graph& graph, NodeIndex node, int16_t provider) const {
    const std::lock_guard lock(mutex_);
    const auto found = reasons_.find({&graph, node, provider});
    return found == reasons_.end() ? nullptr : &found->second;
  }
  /// Keeps a constant that its kernels need no more until nothing has failed: other providers may want it. Thread-safe.
  void Unneeded(Graph& graph, ValueIndex constant) {
    const std::lock_guard lock(mutex_);
    unneeded_.emplace_back(&graph, constant);
  }
  /// The plan is made: `drop` says that such constants go now, else they stay for the next plan.
  void SettleConstants(bool drop) {
    for (const auto& [graph, constant] : std::exchange(unneeded_, {})) {
      if (drop) graph->DropConstant(constant);
    }
  }
  /// Lines for the log since the last call.
  std::vector<std::string> TakeLines() { return std::exchange(lines_, {}); }
  /// How many there are.
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return reasons_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::tuple<const Graph*, NodeIndex, int16_t>, std::string> reasons_;
  std::vector<std::string> lines_;
  std::vector<std::pair<Graph*, ValueIndex>> unneeded_;
};

}  // namespace tessera
