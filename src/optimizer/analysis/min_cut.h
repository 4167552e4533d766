#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

/// The cheapest set of edges of a directed graph without which nothing leads from its source to its sink.
class MinCut {
 public:
  /// More than all edges that may be cut cost.
  static constexpr int64_t kUncut = int64_t{1} << 60;

  explicit MinCut(size_t vertices) : leaving_(vertices) {}

  void AddEdge(size_t from, size_t to, int64_t cost);
  /// What the cut costs; kUncut where finding out would take too long. Once.
  int64_t Solve(size_t source, size_t sink);
  /// Of the cheapest cuts, the one nearest to the source.
  bool IsOnSourceSide(size_t vertex) const noexcept { return level_[vertex] >= 0; }

 private:
  struct Edge {
    size_t to;
    int64_t left;
  };

  bool FindLevels(size_t source, size_t sink);
  int64_t Augment(size_t source, size_t sink);
  void Spend(size_t steps) noexcept;

  std::vector<Edge> edges_;  // each beside its reverse
  std::vector<std::vector<size_t>> leaving_;
  std::vector<int64_t> level_;  // steps from the source, -1: none leads there
  std::vector<size_t> next_;
  size_t effort_ = 0;  // steps that are left
};

}  // namespace tessera
