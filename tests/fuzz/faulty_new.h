#pragma once

#include <cstdint>

namespace tessera::fuzz {

/// This program's operator new, malloc's relatives and mmap, as far as Tessera calls them: the `n`-th call from now on
/// fails, on whatever thread, counted from 1. 0: none.
void FailAllocation(int64_t n) noexcept;

/// Calls since FailAllocation.
int64_t AllocationsSince() noexcept;
/// Where the call that failed came from.
const void* FailedCaller() noexcept;

/// While it lives, this program's own allocations neither fail nor count.
struct Unfailing {
  Unfailing() noexcept;
  ~Unfailing();
};

/// Blocks that operator new gave out and that were not given back.
int64_t LiveAllocations() noexcept;

}  // namespace tessera::fuzz
