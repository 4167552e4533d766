#pragma once

// ParallelFor for bodies that need scratch memory of their own.

#include <algorithm>
#include <cstdint>

#include "base/cancellation.h"
#include "base/rounding.h"
#include "base/small_array.h"
#include "tessera/provider/thread_pool.h"

namespace tessera::cpu {

/// How many slots `items` of `item_ns` nanoseconds each are worth: at most one per thread, at least one.
inline int64_t SlotCount(const ThreadPool& threads, int64_t items, double item_ns) {
  const double worth = static_cast<double>(items) * item_ns / ThreadPool::kSerialBelowNs + 1;
  const int64_t most = std::max<int64_t>(std::min<int64_t>(threads.num_threads(), items), 1);
  return worth >= static_cast<double>(most) ? most : static_cast<int64_t>(worth);
}

/// Parts of `items` that are taken one by one: some for each thread, so that a late one holds nobody up.
inline int64_t PartsFor(const ThreadPool& threads, int64_t items) {
  return threads.num_threads() == 1 ? 1 : std::clamp<int64_t>(items, 1, 4 * threads.num_threads());
}

/// Calls body(slot, begin, end) for each of `slots` slots; the ranges cover [0, items). No two calls share a slot at a
/// time.
template <class Body>
void ParallelSlots(ThreadPool& threads, int64_t slots, int64_t items, double item_ns, Body&& body) {
  const auto begin_of = [&](int64_t slot) { return items / slots * slot + std::min(slot, items % slots); };
  threads.ParallelFor(slots, item_ns * static_cast<double>(items) / static_cast<double>(slots),
                      [&](int64_t first, int64_t last) {
                        for (int64_t slot = first; slot < last; ++slot) {
                          InCancellablePieces(begin_of(slot), begin_of(slot + 1), item_ns,
                                              [&](int64_t begin, int64_t end) { body(slot, begin, end); });
                        }
                      });
}

/// Calls body(own, first, count) for groups of at most `together` of `items`; `own`: memory that no two calls share at a
/// time, what allocate() gives for each slot.
template <class Allocate, class Body>
void ParallelGroups(ThreadPool& threads, int64_t items, int64_t together, double group_ns, Allocate&& allocate,
                    Body&& body) {
  const int64_t groups = CeilDiv(items, together), slots = SlotCount(threads, groups, group_ns);
  SmallArray<decltype(allocate())> memory(static_cast<size_t>(slots));
  for (auto& own : memory.values()) own = allocate();
  ParallelSlots(threads, slots, groups, group_ns, [&](int64_t slot, int64_t begin, int64_t end) {
    for (int64_t first = begin * together; first < std::min(end * together, items); first += together) {
      CancellationPoint();
      body(memory[static_cast<size_t>(slot)], first, std::min(together, items - first));
    }
  });
}

}  // namespace tessera::cpu
