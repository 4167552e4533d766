#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tessera/memory.h"

namespace tessera {

/// Bytes that something may take in all, whoever takes them: a session's load, its runs, all sessions of an environment.
/// Thread-safe.
class MemoryBudget {
 public:
  /// `option`: what an error tells the user to raise. `limit`: 0 is none. What is charged here is charged to `parent`, too.
  MemoryBudget(std::string option, int64_t limit, std::shared_ptr<MemoryBudget> parent = nullptr);

  /// Throws Error(kRuntimeException), and counts nothing, where that would be more than the limit.
  void Charge(size_t bytes);
  void Refund(size_t bytes) noexcept;

  /// Moves a limit that there is: what callers bring along may be worth more memory than a stranger's file.
  void Extend(int64_t bytes) noexcept { allowance_.fetch_add(bytes, std::memory_order_relaxed); }

  int64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  /// 0: none.
  int64_t limit() const noexcept { return limit_ == 0 ? 0 : limit_ + allowance_.load(std::memory_order_relaxed); }

 private:
  const std::string option_;
  const int64_t limit_;
  const std::shared_ptr<MemoryBudget> parent_;
  std::atomic<int64_t> allowance_{0};
  std::atomic<int64_t> used_{0};
};

/// `raw` as an allocator whose buffers and charges count against a budget. Lives until its owner, every buffer and every
/// charge are gone, so that tensors may outlive the session that made them. `before`: asked before anything is taken, may
/// throw; not null, it need only live as long as who takes.
std::shared_ptr<Allocator> MakeBudgetedAllocator(std::shared_ptr<Allocator> raw, std::shared_ptr<MemoryBudget> budget,
                                                 std::function<void()> before = {});
/// Of an allocator that lives longer than all of them.
std::shared_ptr<Allocator> MakeBudgetedAllocator(Allocator& raw, std::shared_ptr<MemoryBudget> budget,
                                                 std::function<void()> before = {});

}  // namespace tessera
