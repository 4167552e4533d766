#include "runtime/plan/plan_builder.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/mapped_file.h"
#include "base/symbolic_shape.h"
#include "base/value_type.h"
#include "graph/provenance.h"
#include "runtime/kernel_info.h"
#include "runtime/memory/packed_store.h"
#include "runtime/plan/copy_kernel.h"
#include "runtime/plan/dependencies.h"
#include "runtime/plan/late_kernel.h"
#include "runtime/plan/region.h"
#include "runtime/step_context.h"
#include "runtime/subgraph.h"

namespace tessera {
namespace {

class PlanBuilder {
 public:
  PlanBuilder(Graph& graph, GraphPartition partition, const SessionResources& resources, PlacementReport& report,
              FailedKernels* failed, const Node* holder, const std::string& path)
      : graph_(graph),
        viewer_(graph),
        partition_(std::move(partition)),
        resources_(resources),
        report_(report),
        failed_(failed),
        failed_before_(failed == nullptr ? 0 : failed->size()),
        holder_(holder),
        path_(path),
        plan_(std::make_unique<Plan>()),
        drains_(resources.providers.size()) {
    if (holder_ == nullptr) return;
    for (size_t i = 0; i < holder_->implicit_inputs.size(); ++i)
      captured_at_.emplace(holder_->implicit_inputs[i], holder_->inputs.size() + i);
  }

  std::unique_ptr<Plan> Build() {
    plan_->graph = &graph_;
    // Its runner, its lists, its kernels: of a graph of one node, as functions make a hundred thousand of.
    constexpr size_t kAroundPlan = 1400;
    if (holder_ != nullptr) graph_.Charge(sizeof(Plan) + kAroundPlan);
    AddInputs();
    for (Unit& unit : partition_.units) AddUnit(unit);
    for (const ValueIndex output : graph_.outputs()) {
      const size_t steps = plan_->steps.size();
      const SlotIndex slot = SlotIn(output, SessionResources::kHost);
      if (plan_->steps.size() > steps) {
        const SlotIndex device = plan_->input_slots.back();
        plan_->output_copies.push_back({plan_->graph_outputs.size(), static_cast<int32_t>(steps), device});
        plan_->slots[static_cast<size_t>(device)].is_output = true;
        if (resources_.SharingOf(plan_->slots[static_cast<size_t>(device)].memory) != nullptr)
          report_.copies.back().to += CopyKernel::kInPlace;
      }
      plan_->graph_outputs.push_back(slot);
      plan_->output_types.push_back(graph_.value(output).type);
      plan_->slots[static_cast<size_t>(slot)].is_output = true;
    }
    MakeKernels();
    if (HasFailed()) return nullptr;
    FindLifetimes(*plan_, escaping_);
    FindDependencies(*plan_);
    return std::move(plan_);
  }

 private:
  void AddInputs() {
    for (const ValueIndex input : graph_.inputs()) {
      const GraphValue& value = graph_.value(input);
      plan_->input_types.push_back(value.type);
      const bool read = !value.consumers.empty() || value.is_output;
      plan_->graph_inputs.push_back(read ? NewSlot(input, SessionResources::kHost, SlotSource::kInput) : kNone);
      if (read && value.default_value.has_value())
        plan_->defaults.emplace_back(plan_->graph_inputs.back(), *value.default_value);
    }
  }

  SlotIndex NewSlot(ValueIndex index, int16_t memory, SlotSource source) {
    const GraphValue& value = graph_.value(index);
    const auto slot = static_cast<SlotIndex>(plan_->slots.size());
    const bool tensor = value.type.is_tensor(), rank_matters = tensor && value.type.shape && !value.consumers.empty();
    plan_->slots.push_back(Slot{.value = index,
                                .element = tensor ? value.type.element : ElementType::kUndefined,
                                .rank = rank_matters ? static_cast<int32_t>(value.type.shape->size()) : kNone,
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
      Tensor here = memory == SessionResources::kHost ? *constant : OnDevice(graph_.value(index).name, *constant, memory);
      const SlotIndex slot = NewSlot(index, memory, SlotSource::kConstant);
      plan_->constants.emplace_back(slot, std::move(here));
      return slot;
    }
    for (size_t from = 0; from < resources_.memories.size(); ++from) {
      const auto found = slots_.find({index, static_cast<int16_t>(from)});
      if (found != slots_.end()) return AddCopy(index, found->second, memory);
    }
    const GraphValue& value = graph_.value(index);
    if (value.outer != kNone && holder_ != nullptr) {
      const auto at = captured_at_.find(value.outer);
      if (at == captured_at_.end())
        Fail(ErrorCode::kInvalidGraph, "captured value '{}' is not an input of its node", value.name);
      const SlotIndex slot = NewSlot(index, SessionResources::kHost, SlotSource::kCapture);
      plan_->captures.emplace_back(slot, at->second);
      return memory == SessionResources::kHost ? slot : AddCopy(index, slot, memory);
    }
    Fail(ErrorCode::kInvalidGraph, "value '{}' is read before it is computed", value.name);
  }

  Tensor OnDevice(std::string_view name, const Tensor& constant, int16_t memory) const {
    try {
      return resources_.DeviceConstant(constant, memory);
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("the constant '{}' of {} bytes does not come into {} memory: {}", name, constant.byte_size(),
                              resources_.memories[static_cast<size_t>(memory)].info.name, error.what()));
    }
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
    WaitForSource(step, from);
    if (memory == SessionResources::kHost) pending_[slot] = {step.provider, drains_[static_cast<size_t>(step.provider)]};
    plan_->slots[static_cast<size_t>(slot)].producer = static_cast<int32_t>(plan_->steps.size());
    plan_->steps.push_back(step);
    report_.copies.push_back({path_, std::string(source.name),
                              std::string(resources_.memories[static_cast<size_t>(source.memory)].info.name),
                              std::string(resources_.memories[static_cast<size_t>(memory)].info.name)});
    if (resources_.SharingOf(memory) != nullptr) report_.copies.back().to += CopyKernel::kInPlace;
    return slot;
  }

  /// What a stream brings to the host is there once it is drained.
  void WaitForSource(Step& step, SlotIndex input) {
    const auto found = pending_.find(input);
    if (found == pending_.end()) return;
    const auto [provider, drains] = found->second;
    size_t& drained = drains_[static_cast<size_t>(provider)];
    if (drains == drained) {
      step.synchronize |= 1u << provider;
      ++drained;
    }
    pending_.erase(found);
  }

  void AddUnit(Unit& unit) {
    resources_.CheckLoad();
    graph_.Charge(sizeof(Step) + sizeof(Slot) * 2);  // what a small node takes here; its slots' maps beside them
    const ProviderEntry& entry = resources_.providers[static_cast<size_t>(unit.provider)];
    const Node& node = unit.fused != nullptr ? *unit.fused : graph_.node(unit.nodes.front());
    std::vector<SlotIndex> inputs;
    bool complete = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool host = unit.def != nullptr && unit.def->is_host_input(i);
      inputs.push_back(kNone);
      if (node.inputs[i] == kNone) continue;
      try {
        inputs.back() = SlotIn(node.inputs[i], host ? SessionResources::kHost : entry.memory);
      } catch (const std::exception& error) {
        Failed(unit.nodes, node, unit.provider, error.what());
        complete = false;
      }
    }
    for (const ValueIndex captured : node.implicit_inputs) inputs.push_back(SlotIn(captured, SessionResources::kHost));

    Step step;
    step.node = &node;
    step.def = unit.def;
    step.provider = unit.provider;
    step.first_input = static_cast<uint32_t>(plan_->input_slots.size());
    step.num_inputs = static_cast<uint32_t>(inputs.size());
    plan_->input_slots.insert(plan_->input_slots.end(), inputs.begin(), inputs.end());
    step.first_output = static_cast<uint32_t>(plan_->output_slots.size());
    step.num_outputs = static_cast<uint32_t>(node.outputs.size());
    for (const SlotIndex input : inputs) WaitForSource(step, input);
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
    if (unit.fused != nullptr) {
      compiled_.insert(unit.nodes.begin(), unit.nodes.end());
      plan_->fused_nodes.push_back(std::move(unit.fused));
    }
    AddNested(node);
    plan_->kernels.push_back(std::move(unit.kernel));
    if (complete) pending_kernels_.push_back({plan_->steps.size() - 1, plan_->kernels.size() - 1});
  }

  bool HasFailed() const { return failed_ != nullptr && failed_->size() > failed_before_; }

  /// Called while an exception is handled: throws it on where no other provider may take the nodes.
  void Failed(std::span<const NodeIndex> nodes, const Node& node, int16_t provider, const std::string& reason) {
    resources_.CheckLoad();
    const bool last = static_cast<size_t>(provider) + 1 == resources_.providers.size();
    if (failed_ == nullptr || last) RethrowAt(node, graph_);
    const std::string_view name = resources_.providers[static_cast<size_t>(provider)].provider->name();
    for (const NodeIndex index : nodes) {
      failed_->Add(
          graph_, index, provider, reason,
          fmt::format("{}: {}{} goes to the next provider: {}", name, path_, graph_.node(index).Label(&viewer_), reason));
    }
  }

  void AddNested(const Node& node) {
    if (node.index == kNone) return;  // a fused node
    for (const auto& [attribute, graph] : graph_.Subgraphs(node.index)) {
      try {
        auto& nested = partition_.nested.at({node.index, std::string(attribute)});
        auto plan = BuildPlan(*graph, std::move(nested), resources_, report_, failed_, &node,
                              PathOfNested(path_, node, viewer_, attribute));
        if (plan == nullptr) continue;  // something failed: this plan will be of no use either
        nested_of_.try_emplace(node.index, plan_->nested.size());
        plan_->nested.push_back(
            {node.index, std::string(attribute), std::make_unique<PlannedSubgraph>(std::move(plan), resources_)});
      } catch (...) {
        RethrowAt(node, graph_);
      }
    }
  }

  /// Those of a node stand side by side.
  std::span<const Plan::Nested> NestedOf(const Node& node) const {
    const auto first = nested_of_.find(node.index);
    if (first == nested_of_.end()) return {};
    size_t end = first->second;
    while (end < plan_->nested.size() && plan_->nested[end].node == node.index) ++end;
    return std::span<const Plan::Nested>(plan_->nested).subspan(first->second, end - first->second);
  }

  /// Kernels of host providers are made in parallel: packing weights is most of the work at load. What one has packed goes
  /// before others pack more.
  void MakeKernels() {
    CountConstantReaders();
    const auto make = [&](size_t i) {
      const auto [step_index, kernel_index] = pending_kernels_[i];
      Step& step = plan_->steps[step_index];
      auto& kernel = plan_->kernels[kernel_index];
      if (kernel == nullptr) {
        try {
          resources_.CheckLoad();
          InputTypesAreKnown(step) ? MakeKernel(step, kernel) : MakeLateKernel(step, kernel);
        } catch (const std::exception& error) {
          Failed(std::span(&step.node->index, 1), *step.node, step.provider,
                 fmt::format("cannot make its kernel: {}", error.what()));
        }
      }
      step.kernel = kernel.get();
    };
    std::vector<size_t> on_host;
    for (size_t i = 0; i < pending_kernels_.size(); ++i) {
      const Step& step = plan_->steps[pending_kernels_[i].first];
      if (resources_.providers[static_cast<size_t>(step.provider)].memory == SessionResources::kHost) {
        on_host.push_back(i);
      } else {
        make(i);
      }
    }
    if (HasFailed()) return;
    if (resources_.threads->num_threads() > 1 && on_host.size() > 1) {
      std::atomic<size_t> next{0};
      constexpr double kLong = 1e9;  // whatever they take, it is worth a thread
      resources_.threads->ParallelFor(resources_.threads->num_threads(), kLong, [&](int64_t, int64_t) {
        const OutsideRegionScope outside;  // the last one to be made is packed by all threads
        for (size_t i = next++; i < on_host.size(); i = next++) make(on_host[i]);
      });
    } else {
      for (const size_t i : on_host) make(i);
    }
    std::erase_if(plan_->constants, [](const auto& constant) { return constant.second.is_none(); });
  }

  bool InputTypesAreKnown(const Step& step) const {
    return std::ranges::all_of(step.node->inputs,
                               [&](ValueIndex input) { return input == kNone || IsComplete(graph_.value(input).type); });
  }

  const ExecutionProvider& ProviderOf(const Step& step) const {
    return *resources_.providers[static_cast<size_t>(step.provider)].provider;
  }

  void MakeKernel(const Step& step, std::unique_ptr<Kernel>& kernel) {
    const NodeKernelInfo info(*step.node, viewer_, ProviderOf(step), resources_, NestedOf(*step.node));
    kernel = step.def->factory()(info);
    ReleaseConstants(step, info.released());
    AlignConstants(step, info);
  }

  void MakeLateKernel(Step& step, std::unique_ptr<Kernel>& kernel) {
    if (!graph_.Subgraphs(step.node->index).empty()) MakeKernel(step, kernel);
    kernel = std::make_unique<LateKernel>(*step.node, graph_, ProviderOf(step), resources_, std::move(kernel));
    step.def = nullptr;  // what may be done in place is for the kernel to say that is made then
  }

  void CountConstantReaders() {
    Plan& plan = *plan_;
    constants_.assign(plan.slots.size(), nullptr);
    for (auto& [slot, constant] : plan.constants) constants_[static_cast<size_t>(slot)] = &constant;
    constant_readers_ = std::vector<std::atomic<int32_t>>(plan.slots.size());
    for (const Step& step : plan.steps) {
      for (const SlotIndex slot : plan.inputs_of(step)) {
        if (slot != kNone) ++constant_readers_[static_cast<size_t>(slot)];
      }
    }
  }

  /// Profiles tell of constants that are no longer there.
  void KeepShape(ValueIndex constant, const Shape& shape) {
    std::optional<SymbolicShape>& kept = graph_.value(constant).type.shape;
    if (!kept) kept = ToSymbolic(shape);
  }

  /// A constant that every reader keeps in a form of its own needs no memory of its own any more.
  void ReleaseConstants(const Step& step, std::span<const size_t> released) {
    const auto inputs = plan_->inputs_of(step);
    const std::set<size_t> distinct(released.begin(), released.end());
    for (const size_t input : distinct) {
      const SlotIndex index = input < inputs.size() ? inputs[input] : kNone;
      if (index == kNone || constants_[static_cast<size_t>(index)] == nullptr) continue;
      if (--constant_readers_[static_cast<size_t>(index)] > 0) continue;
      const Slot& slot = plan_->slots[static_cast<size_t>(index)];
      if (slot.is_output || slot.memory != SessionResources::kHost) continue;
      Value& constant = *constants_[static_cast<size_t>(index)];
      if (const Tensor* tensor = constant.tensor_if()) {
        ForgetPages(tensor->unaligned_raw(), tensor->byte_size());
        KeepShape(slot.value, tensor->shape());
      }
      constant = {};
      // Copies of it in other memories are told by its place, which must not be another's meanwhile.
      if (resources_.memories.size() > 1 || IsCompiled(slot.value)) continue;
      if (failed_ != nullptr) {
        failed_->Unneeded(graph_, slot.value);
      } else {
        graph_.DropConstant(slot.value);
      }
    }
  }

  /// Whether a region of a provider reads it: constants are no inputs of a region, which may look at them first in a run,
  /// when shapes are known.
  bool IsCompiled(ValueIndex constant) const {
    const auto& consumers = graph_.value(constant).consumers;
    return std::any_of(consumers.begin(), consumers.end(),
                       [&](NodeIndex consumer) { return compiled_.contains(consumer); });
  }

  /// Now rather than in the first run.
  void AlignConstants(const Step& step, const NodeKernelInfo& info) {
    const auto inputs = plan_->inputs_of(step);
    std::vector<bool> as_they_are(step.node->inputs.size());
    for (const auto list : {info.released(), info.unaligned()}) {
      for (const size_t i : list) {
        if (i < as_they_are.size()) as_they_are[i] = true;
      }
    }
    for (size_t i = 0; i < step.node->inputs.size(); ++i) {
      if (inputs[i] == kNone || as_they_are[i]) continue;
      const Slot& slot = plan_->slots[static_cast<size_t>(inputs[i])];
      const Value* constant = constants_[static_cast<size_t>(inputs[i])];
      const Tensor* tensor = constant == nullptr ? nullptr : constant->tensor_if();
      if (tensor == nullptr || slot.memory != SessionResources::kHost) continue;
      tensor->raw();
      if (resources_.packed != nullptr) resources_.packed->NoteAligned(*tensor);
    }
  }

  Graph& graph_;
  const GraphViewer viewer_;
  GraphPartition partition_;
  const SessionResources& resources_;
  PlacementReport& report_;
  FailedKernels* const failed_;  // null: failures are errors
  const size_t failed_before_;
  const Node* const holder_;
  const std::string path_;
  std::unique_ptr<Plan> plan_;
  std::map<std::pair<ValueIndex, int16_t>, SlotIndex> slots_;
  std::unordered_map<ValueIndex, size_t> captured_at_;  // of the holder's implicit inputs: the place among all its inputs
  std::unordered_map<NodeIndex, size_t> nested_of_;     // of each node the first in the plan's list
  std::vector<size_t> drains_;                          // by provider: how often a step waits for its stream
  /// Copied to the host by a provider's stream, with the number of waits before it: one more, and it is there.
  std::map<SlotIndex, std::pair<int16_t, size_t>> pending_;
  std::unordered_set<NodeIndex> compiled_;                  // nodes of regions
  std::vector<SlotIndex> escaping_;                         // results may refer to these
  std::vector<std::pair<size_t, size_t>> pending_kernels_;  // step, index into the plan's kernels
  std::vector<Value*> constants_;                           // by slot
  std::vector<std::atomic<int32_t>> constant_readers_;      // by slot: steps that have not released it
};

}  // namespace

std::unique_ptr<Plan> BuildPlan(Graph& graph, GraphPartition partition, const SessionResources& resources,
                                PlacementReport& report, FailedKernels* failed, const Node* holder,
                                const std::string& path) {
  return PlanBuilder(graph, std::move(partition), resources, report, failed, holder, path).Build();
}

}  // namespace tessera
