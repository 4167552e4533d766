#pragma once

// The memory plans of a graph, by the shapes of its inputs.

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/plan/memory_plan.h"
#include "tessera/shape.h"

namespace tessera {

/// A memory plan and the input shapes that it is for.
struct ShapePlan {
  std::vector<Shape> shapes;
  MemoryPlan memory;
};

/// Keeps the plans used last. Thread-safe.
class ShapePlans {
 public:
  /// The plan for these shapes, or null.
  std::shared_ptr<const ShapePlan> Find(const std::vector<Shape>& shapes);
  void Insert(std::shared_ptr<const ShapePlan> plan);
  /// Whether a run that found none should learn one. Graphs whose shapes change at every run (nested bodies, growing
  /// sequences) learn only shapes that come back.
  bool WorthLearning(const std::vector<Shape>& shapes, bool nested);

 private:
  static constexpr size_t kCapacity = 16;
  std::mutex mutex_;
  std::list<std::shared_ptr<const ShapePlan>> plans_;  // used last first
  int misses_in_a_row_ = 0;
  std::array<uint64_t, 64> seen_{};  // hashes of shapes without plan
  size_t next_seen_ = 0;
};

}  // namespace tessera
