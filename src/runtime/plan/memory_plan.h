#pragma once

// Where every intermediate of a run lies, for one set of input shapes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/plan/plan.h"

namespace tessera {

/// Buffers of all intermediates and of each step's scratch memory, as offsets into few blocks.
struct MemoryPlan {
  struct Placement {
    int32_t block = -1;  // -1: not planned
    size_t offset = 0;
    size_t bytes = 0;
  };
  struct Block {
    int16_t memory = 0;
    size_t bytes = 0;
  };
  /// An input of a step that joins them.
  struct Part {
    size_t bytes = 0;
    bool in_place = false;  // where the output has it
  };
  std::vector<Placement> slots;    // by slot
  std::vector<Placement> scratch;  // by step
  std::vector<Block> blocks;
  std::vector<SlotIndex> aliases;  // by slot: whose buffer it shares, kNone
  /// By slot: the input of its step whose place it takes, kNone. Sizes that depend on data may forbid that in a later run.
  std::vector<SlotIndex> in_place_of;
  /// By slot: what it is joined of (KernelContext::joined_output), where some of it is in place. The same holds.
  std::vector<std::vector<Part>> parts;
  /// True where `slot` may look into `source`'s buffer: it lives as long.
  bool IsAlias(SlotIndex slot, SlotIndex source) const noexcept { return aliases[static_cast<size_t>(slot)] == source; }
};

/// What one run without a plan learned.
struct MemoryTrace {
  struct Use {
    size_t bytes = 0;
    bool allocated = false;      // through output(), in the session's memory
    SlotIndex alias_of = kNone;  // shares this slot's buffer
  };
  /// A step whose output 0 is its inputs, one after another.
  struct Join {
    int32_t step = 0;
    std::vector<size_t> bytes;  // by input
  };
  std::vector<Use> slots;
  std::vector<size_t> scratch;  // by step
  std::vector<Join> joins;

  explicit MemoryTrace(const Plan& plan) : slots(plan.slots.size()), scratch(plan.steps.size()) {}
};

/// Best-fit placement of the traced buffers by their lifetimes, with in-place outputs, and inputs of joining steps where
/// the step would copy them to. `addressable`: by memory.
MemoryPlan MakeMemoryPlan(const Plan& plan, const MemoryTrace& trace, const std::vector<bool>& addressable);

}  // namespace tessera
