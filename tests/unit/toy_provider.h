#pragma once

// A provider made for tests: few operators, on the host or in a memory that the host cannot touch.

#include <atomic>
#include <string>
#include <utility>

#include "tessera/provider/execution_provider.h"
#include "tessera/session.h"

namespace tessera::testing {

inline constexpr std::string_view kToyMemory = "Toy";

/// "ToyExecutionProvider" ("toy"), added to the process on first use. Runs Add, Mul, Neg, Identity and Reshape on floats,
/// Split (unequal, in two), NonZero (data-dependent size), Untyped of domain "toy" (its input, whatever that is; no type is
/// inferred), Slow (waits until cancelled) and Meeting (waits for another one). Options:
///   ops          comma-separated operators to take; empty: all
///   device       values live in "Toy" memory, whose addresses fault on the host
///   fuse         claims everything it can take as one subgraph
///   delay_ms     how long Add, Mul and Neg take
///   rounds       says that Mul is computed at bf16
///   fail_start, fail_memory, fail_attach, fail_synchronize, fail_compile
///   fail_kernel  Add, Mul or Neg, whose kernels then cannot be made
///   gpu_mem_limit, arena_extend_strategy
const ProviderFactory& Toy();

inline SessionOptions OnToy(ProviderOptions options = {}) {
  SessionOptions session;
  session.providers = {{std::string(Toy().name), std::move(options)}};
  return session;
}

/// What Toy did since the last Reset.
struct ToyCounters {
  std::atomic<int> uploads{0}, downloads{0}, computes{0}, compiles{0}, synchronizations{0};
  std::atomic<int> slow_computes{0};
  std::atomic<int> meeting{0};     // Meetings that began
  std::atomic<int> allocators{0};  // that are alive
  std::atomic<int> in_place{0};    // outputs that shared their input's buffer
  void Reset() { uploads = downloads = computes = compiles = synchronizations = in_place = 0; }
};
ToyCounters& Counters();

}  // namespace tessera::testing
