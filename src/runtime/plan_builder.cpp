#include "runtime/plan_builder.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "runtime/copy_kernel.h"
#include "runtime/kernel_info.h"
#include "runtime/step_context.h"
#include "runtime/subgraph.h"

namespace tessera {
namespace {

class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, GraphPartition partition, const SessionResources& resources, PlacementReport& report,
              const Node* holder, const std::string& path)
      : graph_(graph),
        viewer_(graph),
        partition_(std::move(partition)),
        resources_(resources),
        report_(report),
        holder_(holder),
        path_(path),
        plan_(std::make_unique<Plan>()) {}

  std::unique_ptr<Plan> Build() {
    plan_->graph = &graph_;
    AddInputs();
    for (Unit& unit : partition_.units) AddUnit(unit);
    for (const ValueIndex output : graph_.outputs()) {
      const SlotIndex slot = SlotIn(output, SessionResources::kHost);
      plan_->graph_outputs.push_back(slot);
      plan_->output_types.push_back(graph_.value(output).type);
      plan_->slots[static_cast<size_t>(slot)].is_output = true;
    }
    FindLifetimes();
    return std::move(plan_);
  }

 private:
  void AddInputs() {
    for (const ValueIndex input : graph_.inputs()) {
      const GraphValue& value = graph_.value(input);
      plan_->input_types.push_back(value.type);
      const bool read = !value.consumers.empty() || value.is_output;
      plan_->graph_inputs.push_back(read ? NewSlot(input, SessionResources::kHost, SlotSource::kInput) : kNone);
      if (read && value.default_value.has_value()) plan_->defaults.emplace_back(plan_->graph_inputs.back(), *value.default_value);
    }
  }

  SlotIndex NewSlot(ValueIndex index, int16_t memory, SlotSource source) {
    const GraphValue& value = graph_.value(index);
    const auto slot = static_cast<SlotIndex>(plan_->slots.size());
    plan_->slots.push_back(Slot{.value = index,
                                .element = value.type.is_tensor() ? value.type.element : ElementType::kUndefined,
                                .source = source,
                                .memory = memory,
                                .name = value.name});
    slots_[{index, memory}] = slot;
    return slot;
  }

  /// The slot that holds a value in a memory; a copy step brings it there when it is elsewhere.
  SlotIndex SlotIn(ValueIndex index, int16_t memory) {
    if (const auto found = slots_.find({index, memory}); found != slots_.end()) return found->second;
    if (const Tensor* constant = graph_.constant(index); constant != nullptr) {
      const SlotIndex slot = NewSlot(index, memory, SlotSource::kConstant);
      if (memory == SessionResources::kHost) {
        plan_->constants.emplace_back(slot, *constant);
      } else {
        plan_->constants.emplace_back(slot, resources_.DeviceConstant(*constant, memory));
      }
      return slot;
    }
    for (size_t from = 0; from < resources_.memories.size(); ++from) {
      const auto found = slots_.find({index, static_cast<int16_t>(from)});
      if (found != slots_.end()) return AddCopy(index, found->second, memory);
    }
    const GraphValue& value = graph_.value(index);
    if (value.outer != kNone && holder_ != nullptr) {
      const auto& captured = holder_->implicit_inputs;
      const auto at = std::find(captured.begin(), captured.end(), value.outer);
      if (at == captured.end()) Fail(ErrorCode::kInvalidGraph, "captured value '{}' is not an input of its node", value.name);
      const SlotIndex slot = NewSlot(index, SessionResources::kHost, SlotSource::kCapture);
      plan_->captures.emplace_back(slot, holder_->inputs.size() + static_cast<size_t>(at - captured.begin()));
      return memory == SessionResources::kHost ? slot : AddCopy(index, slot, memory);
    }
    Fail(ErrorCode::kInvalidGraph, "value '{}' is read before it is computed", value.name);
  }

  SlotIndex AddCopy(ValueIndex index, SlotIndex from, int16_t memory) {
    const SlotIndex slot = NewSlot(index, memory, SlotSource::kStep);
    const Slot& source = plan_->slots[static_cast<size_t>(from)];
    plan_->kernels.push_back(std::make_unique<CopyKernel>(resources_));
    auto node = std::make_unique<Node>();
    node->op_type = "Copy";
    node->name = source.name;
    Step step;
    step.kind = StepKind::kCopy;
    step.kernel = plan_->kernels.back().get();
    step.node = node.get();
    step.provider = resources_.ProviderOf(memory != SessionResources::kHost ? memory : source.memory);
    step.first_input = static_cast<uint32_t>(plan_->input_slots.size());
    step.num_inputs = 1;
    plan_->input_slots.push_back(from);
    step.first_output = static_cast<uint32_t>(plan_->output_slots.size());
    step.num_outputs = 1;
    plan_->output_slots.push_back(slot);
    plan_->fused_nodes.push_back(std::move(node));
    if (memory == SessionResources::kHost) pending_[slot] = step.provider;
    plan_->slots[static_cast<size_t>(slot)].producer = static_cast<int32_t>(plan_->steps.size());
    plan_->steps.push_back(step);
    report_.copies.push_back({path_, std::string(source.name), std::string(resources_.memories[static_cast<size_t>(source.memory)].info.name),
                              std::string(resources_.memories[static_cast<size_t>(memory)].info.name)});
    return slot;
  }

  void AddUnit(Unit& unit) {
    const ProviderEntry& entry = resources_.providers[static_cast<size_t>(unit.provider)];
    const Node& node = unit.fused != nullptr ? *unit.fused : graph_.node(unit.nodes.front());
    std::vector<SlotIndex> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool host = unit.def != nullptr && unit.def->is_host_input(i);
      inputs.push_back(node.inputs[i] == kNone ? kNone : SlotIn(node.inputs[i], host ? SessionResources::kHost : entry.memory));
    }
    for (const ValueIndex captured : node.implicit_inputs) inputs.push_back(SlotIn(captured, SessionResources::kHost));

    Step step;
    step.node = &node;
    step.def = unit.def;
    step.provider = unit.provider;
    step.kernel = MakeKernel(unit, node, *entry.provider);
    step.first_input = static_cast<uint32_t>(plan_->input_slots.size());
    step.num_inputs = static_cast<uint32_t>(inputs.size());
    plan_->input_slots.insert(plan_->input_slots.end(), inputs.begin(), inputs.end());
    step.first_output = static_cast<uint32_t>(plan_->output_slots.size());
    step.num_outputs = static_cast<uint32_t>(node.outputs.size());
    for (const SlotIndex input : inputs) {
      const auto found = pending_.find(input);
      if (found == pending_.end()) continue;
      const int16_t provider = found->second;
      step.synchronize |= 1u << provider;
      std::erase_if(pending_, [&](const auto& item) { return item.second == provider; });
    }
    bool tensors_only = node.implicit_inputs.empty();
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) {
        plan_->output_slots.push_back(kNone);
        continue;
      }
      const bool host = unit.def != nullptr && unit.def->is_host_output(i);
      const SlotIndex slot = NewSlot(node.outputs[i], host ? SessionResources::kHost : entry.memory, SlotSource::kStep);
      plan_->slots[static_cast<size_t>(slot)].producer = static_cast<int32_t>(plan_->steps.size());
      plan_->output_slots.push_back(slot);
      tensors_only &= graph_.value(node.outputs[i]).type.is_tensor();
    }
    if (!tensors_only) {
      for (const SlotIndex input : inputs) {
        if (input != kNone) escaping_.push_back(input);
      }
    }
    plan_->steps.push_back(step);
    if (unit.fused != nullptr) plan_->fused_nodes.push_back(std::move(unit.fused));
  }

  Kernel* MakeKernel(Unit& unit, const Node& node, const ExecutionProvider& provider) {
    if (unit.kernel != nullptr) {
      plan_->kernels.push_back(std::move(unit.kernel));
      return plan_->kernels.back().get();
    }
    const size_t first_nested = plan_->nested.size();
    try {
      for (const auto& [attribute, graph] : graph_.Subgraphs(node.index)) {
        auto& nested = partition_.nested.at({node.index, std::string(attribute)});
        auto plan = BuildPlan(*graph, std::move(nested), resources_, report_, &node,
                              path_ + node.Label(&viewer_) + "." + std::string(attribute) + "/");
        plan_->nested.push_back({node.index, std::string(attribute), std::make_unique<PlannedSubgraph>(std::move(plan), resources_)});
      }
      const NodeKernelInfo info(node, viewer_, provider, resources_, std::span(plan_->nested).subspan(first_nested));
      plan_->kernels.push_back(unit.def->factory()(info));
    } catch (...) {
      RethrowAt(node, graph_);
    }
    return plan_->kernels.back().get();
  }

  void FindLifetimes() {
    Plan& plan = *plan_;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      for (const SlotIndex slot : plan.inputs_of(plan.steps[i])) {
        if (slot != kNone) plan.slots[static_cast<size_t>(slot)].last_use = static_cast<int32_t>(i);
      }
    }
    std::vector<std::vector<SlotIndex>> freed(plan.steps.size());
    for (size_t i = 0; i < plan.slots.size(); ++i) {
      Slot& slot = plan.slots[i];
      if (slot.source != SlotSource::kStep || slot.is_output) continue;
      slot.plannable = slot.element != ElementType::kUndefined && slot.element != ElementType::kString;
      freed[static_cast<size_t>(std::max(slot.last_use, slot.producer))].push_back(static_cast<SlotIndex>(i));
    }
    // An asynchronous upload reads its source until the run synchronizes.
    for (const Step& step : plan.steps) {
      if (step.kind != StepKind::kCopy || plan.slots[static_cast<size_t>(plan.outputs_of(step)[0])].memory == SessionResources::kHost) continue;
      Slot& source = plan.slots[static_cast<size_t>(plan.inputs_of(step)[0])];
      source.hold_until = static_cast<int32_t>(plan.steps.size());
      for (auto& list : freed) std::erase(list, plan.inputs_of(step)[0]);
    }
    for (const SlotIndex slot : escaping_) plan.slots[static_cast<size_t>(slot)].plannable = false;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      plan.steps[i].first_free = static_cast<uint32_t>(plan.free_slots.size());
      plan.steps[i].num_free = static_cast<uint32_t>(freed[i].size());
      plan.free_slots.insert(plan.free_slots.end(), freed[i].begin(), freed[i].end());
    }
  }

  const Graph& graph_;
  const GraphViewer viewer_;
  GraphPartition partition_;
  const SessionResources& resources_;
  PlacementReport& report_;
  const Node* const holder_;
  const std::string path_;
  std::unique_ptr<Plan> plan_;
  std::map<std::pair<ValueIndex, int16_t>, SlotIndex> slots_;
  std::map<SlotIndex, int16_t> pending_;  // copied to the host by a provider's stream that nobody waited for yet
  std::vector<SlotIndex> escaping_;       // results may refer to these
};

}  // namespace

std::unique_ptr<Plan> BuildPlan(const Graph& graph, GraphPartition partition, const SessionResources& resources,
                                PlacementReport& report, const Node* holder, const std::string& path) {
  return PlanBuilder(graph, std::move(partition), resources, report, holder, path).Build();
}

}  // namespace tessera
