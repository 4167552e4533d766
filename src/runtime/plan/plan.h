#pragma once

// What the executor runs: a graph flattened into steps over numbered slots.

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/provider/graph.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// Numbers one value in one memory. A value that a device and the host both read has two.
using SlotIndex = int32_t;

enum class SlotSource : int8_t { kStep, kInput, kCapture, kConstant };

struct Slot {
  ValueIndex value = kNone;
  ElementType element = ElementType::kUndefined;  // undefined: known only at run time, or not a tensor
  int32_t rank = kNone;                           // of a tensor that some node reads; kNone: not known
  SlotSource source = SlotSource::kStep;
  bool is_output = false;  // or what an output is copied from
  /// The frame's block may hold it: a fixed-size tensor that no result of the run can refer to.
  bool plannable = false;
  int16_t memory = 0;  // index into the session's memories; 0 is the host
  int32_t producer = -1;
  int32_t last_use = -1;  // step; -1: never read
  /// A device may still read it until this step though nobody else does.
  int32_t hold_until = -1;
  std::string_view name;
};

class PlannedSubgraph;

enum class StepKind : int8_t { kKernel, kCopy };

struct Step {
  Kernel* kernel = nullptr;
  const Node* node = nullptr;
  const KernelDef* def = nullptr;  // null for fused subgraphs and copies
  uint32_t first_input = 0;
  uint32_t num_inputs = 0;  // implicit ones included
  uint32_t first_output = 0;
  uint32_t num_outputs = 0;
  uint32_t first_free = 0;
  uint32_t num_free = 0;
  StepKind kind = StepKind::kKernel;
  /// The provider's stream must be drained before this step reads host memory; bit i stands for provider i.
  uint32_t synchronize = 0;
  int16_t provider = 0;
  /// Parallel execution: steps that wait for this one, and how many this one waits for.
  uint32_t first_successor = 0;
  uint32_t num_successors = 0;
  uint32_t num_predecessors = 0;
};

struct Plan {
  Plan();
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Graph* graph = nullptr;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<SlotIndex> input_slots;    // of all steps; kNone for omitted
  std::vector<SlotIndex> output_slots;   // of all steps
  std::vector<SlotIndex> free_slots;     // of all steps: last used there
  std::vector<SlotIndex> held_slots;     // freed when the devices are done
  std::vector<SlotIndex> graph_inputs;   // by declared input; kNone when nobody reads it
  std::vector<SlotIndex> graph_outputs;  // in host memory
  /// Copies between the border and devices, which a run skips for values that are bound in the device's memory.
  struct BorderCopy {
    size_t border;  // position among inputs or outputs
    int32_t step;
    SlotIndex device;
  };
  std::vector<BorderCopy> input_copies;  // by border, as the others are
  std::vector<BorderCopy> output_copies;
  static std::span<const BorderCopy> CopiesOf(const std::vector<BorderCopy>& copies, size_t border) noexcept {
    const auto range = std::ranges::equal_range(copies, border, {}, &BorderCopy::border);
    return {range.begin(), range.end()};
  }
  /// By declared input: some step other than those copies reads it on the host, or it is an output.
  std::vector<bool> host_reads_input;
  std::vector<TypeInfo> input_types;
  std::vector<TypeInfo> output_types;
  /// Slots of captured values and their position among the holding node's inputs (implicit ones follow its own).
  std::vector<std::pair<SlotIndex, size_t>> captures;
  std::vector<std::pair<SlotIndex, Value>> constants;
  /// Values that inputs take when the caller gives none: overridable initializers.
  std::vector<std::pair<SlotIndex, Value>> defaults;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::unique_ptr<Node>> fused_nodes;
  /// Nested graphs, by node and attribute.
  struct Nested {
    NodeIndex node;
    std::string attribute;
    std::unique_ptr<PlannedSubgraph> runner;
  };
  std::vector<Nested> nested;

  std::vector<int32_t> successors;  // of all steps
  std::vector<int32_t> readers;     // by slot: steps that read it

  std::span<const SlotIndex> outputs_of(const Step& step) const noexcept {
    return {output_slots.data() + step.first_output, step.num_outputs};
  }
  std::span<const SlotIndex> inputs_of(const Step& step) const noexcept {
    return {input_slots.data() + step.first_input, step.num_inputs};
  }
  std::span<const SlotIndex> freed_by(const Step& step) const noexcept {
    return {free_slots.data() + step.first_free, step.num_free};
  }
};

}  // namespace tessera
