#include "runtime/plan/dependencies.h"

#include <algorithm>
#include <vector>

#include "runtime/resources.h"

namespace tessera {
namespace {

void FindLastUses(Plan& plan) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (const SlotIndex slot : plan.inputs_of(plan.steps[i])) {
      if (slot != kNone) plan.slots[static_cast<size_t>(slot)].last_use = static_cast<int32_t>(i);
    }
  }
}

/// An asynchronous upload reads its source until the run synchronizes.
void HoldSourcesOfUploads(Plan& plan) {
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::kCopy ||
        plan.slots[static_cast<size_t>(plan.outputs_of(step)[0])].memory == SessionResources::kHost)
      continue;
    Slot& source = plan.slots[static_cast<size_t>(plan.inputs_of(step)[0])];
    source.hold_until = static_cast<int32_t>(plan.steps.size());
    if (source.source == SlotSource::kStep && !source.is_output) plan.held_slots.push_back(plan.inputs_of(step)[0]);
  }
}

/// Of the values that steps compute and no output keeps: those that each step is the last to use, by step.
std::vector<std::vector<SlotIndex>> FreedSlots(const Plan& plan) {
  std::vector<std::vector<SlotIndex>> freed(plan.steps.size());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    const bool held = slot.hold_until == static_cast<int32_t>(plan.steps.size());
    if (slot.source != SlotSource::kStep || slot.is_output || held) continue;
    freed[static_cast<size_t>(std::max(slot.last_use, slot.producer))].push_back(static_cast<SlotIndex>(i));
  }
  return freed;
}

void FindPlannable(Plan& plan, std::span<const SlotIndex> escaping) {
  for (Slot& slot : plan.slots) {
    slot.plannable = slot.source == SlotSource::kStep && !slot.is_output && slot.element != ElementType::kUndefined &&
                     slot.element != ElementType::kString;
  }
  for (const SlotIndex slot : escaping) plan.slots[static_cast<size_t>(slot)].plannable = false;
}

/// The steps that compute what a step reads, each once.
std::vector<int32_t> PredecessorsOf(const Plan& plan, const Step& step) {
  std::vector<int32_t> before;
  for (const SlotIndex slot : plan.inputs_of(step)) {
    if (slot == kNone) continue;
    const int32_t producer = plan.slots[static_cast<size_t>(slot)].producer;
    if (producer >= 0) before.push_back(producer);
  }
  std::ranges::sort(before);
  before.erase(std::unique(before.begin(), before.end()), before.end());
  return before;
}

void FindSuccessors(Plan& plan) {
  std::vector<std::vector<int32_t>> successors(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const std::vector<int32_t> before = PredecessorsOf(plan, plan.steps[i]);
    plan.steps[i].num_predecessors = static_cast<uint32_t>(before.size());
    for (const int32_t producer : before) successors[static_cast<size_t>(producer)].push_back(static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    plan.steps[i].first_successor = static_cast<uint32_t>(plan.successors.size());
    plan.steps[i].num_successors = static_cast<uint32_t>(successors[i].size());
    plan.successors.insert(plan.successors.end(), successors[i].begin(), successors[i].end());
  }
}

void CountReaders(Plan& plan) {
  plan.readers.assign(plan.slots.size(), 0);
  for (const Step& step : plan.steps) {
    for (const SlotIndex slot : plan.inputs_of(step)) {
      if (slot != kNone) ++plan.readers[static_cast<size_t>(slot)];
    }
  }
}

/// Who reads the graph's inputs: copies to devices, or the host.
void FindReadersOfInputs(Plan& plan) {
  plan.host_reads_input.assign(plan.graph_inputs.size(), false);
  std::vector<size_t> input_of(plan.slots.size(), plan.graph_inputs.size());
  for (size_t i = 0; i < plan.graph_inputs.size(); ++i) {
    const SlotIndex slot = plan.graph_inputs[i];
    if (slot == kNone) continue;
    input_of[static_cast<size_t>(slot)] = i;
    if (plan.slots[static_cast<size_t>(slot)].is_output) plan.host_reads_input[i] = true;
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    for (const SlotIndex slot : plan.inputs_of(step)) {
      const size_t input = slot == kNone ? plan.graph_inputs.size() : input_of[static_cast<size_t>(slot)];
      if (input == plan.graph_inputs.size()) continue;
      if (step.kind == StepKind::kCopy) {
        plan.input_copies.push_back({input, static_cast<int32_t>(i), plan.outputs_of(step)[0]});
      } else {
        plan.host_reads_input[input] = true;
      }
    }
  }
  std::ranges::stable_sort(plan.input_copies, {}, &Plan::BorderCopy::border);
}

}  // namespace

void FindLifetimes(Plan& plan, std::span<const SlotIndex> escaping) {
  FindLastUses(plan);
  HoldSourcesOfUploads(plan);
  FindPlannable(plan, escaping);
  const std::vector<std::vector<SlotIndex>> freed = FreedSlots(plan);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    plan.steps[i].first_free = static_cast<uint32_t>(plan.free_slots.size());
    plan.steps[i].num_free = static_cast<uint32_t>(freed[i].size());
    plan.free_slots.insert(plan.free_slots.end(), freed[i].begin(), freed[i].end());
  }
}

void FindDependencies(Plan& plan) {
  FindSuccessors(plan);
  CountReaders(plan);
  FindReadersOfInputs(plan);
}

}  // namespace tessera
