#include "optimizer/analysis/min_cut.h"

#include <algorithm>

namespace tessera {

void MinCut::AddEdge(size_t from, size_t to, int64_t cost) {
  leaving_[from].push_back(edges_.size());
  edges_.push_back({to, cost});
  leaving_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

// Dinic's algorithm: the greatest flow costs what the cheapest cut does.
int64_t MinCut::Solve(size_t source, size_t sink) {
  // In the worst graphs the algorithm needs the cube of their size.
  constexpr size_t kEffort = 64, kLeastEffort = size_t{1} << 20;
  effort_ = std::max(kLeastEffort, kEffort * edges_.size());
  int64_t total = 0;
  while (FindLevels(source, sink)) {
    next_.assign(leaving_.size(), 0);
    while (const int64_t flow = Augment(source, sink)) total += flow;
    if (effort_ == 0) return kUncut;
  }
  return total;
}

void MinCut::Spend(size_t steps) noexcept { effort_ -= std::min(effort_, steps); }

bool MinCut::FindLevels(size_t source, size_t sink) {
  level_.assign(leaving_.size(), -1);
  Spend(leaving_.size());
  level_[source] = 0;
  std::vector<size_t> queue = {source};
  for (size_t i = 0; i < queue.size(); ++i) {
    Spend(leaving_[queue[i]].size());
    for (const size_t edge : leaving_[queue[i]]) {
      const auto& [to, left] = edges_[edge];
      if (left == 0 || level_[to] >= 0) continue;
      level_[to] = level_[queue[i]] + 1;
      queue.push_back(to);
    }
  }
  return level_[sink] >= 0;
}

/// Sends what it can along one way to the sink; 0 when there is none left.
int64_t MinCut::Augment(size_t source, size_t sink) {
  std::vector<size_t> way;
  size_t at = source;
  while (at != sink) {
    Spend(1);
    if (effort_ == 0) return 0;
    size_t& next = next_[at];
    while (next < leaving_[at].size()) {
      const Edge& edge = edges_[leaving_[at][next]];
      if (edge.left > 0 && level_[edge.to] == level_[at] + 1) break;
      ++next;
    }
    if (next < leaving_[at].size()) {
      way.push_back(leaving_[at][next]);
      at = edges_[way.back()].to;
    } else if (way.empty()) {
      return 0;
    } else {
      at = edges_[way.back() ^ 1].to;
      way.pop_back();
      ++next_[at];
    }
  }
  int64_t flow = kUncut;
  for (const size_t edge : way) flow = std::min(flow, edges_[edge].left);
  for (const size_t edge : way) {
    edges_[edge].left -= flow;
    edges_[edge ^ 1].left += flow;
  }
  return flow;
}

}  // namespace tessera
