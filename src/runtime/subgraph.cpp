#include "runtime/subgraph.h"

#include "base/check.h"
#include "base/stack.h"
#include "base/value_type.h"
#include "runtime/step_context.h"

namespace tessera {

namespace {

/// What the steps of a nested graph may take of the stack, beside graphs nested in it.
constexpr size_t kStackOfSteps = size_t{40} << 10;

/// Readers in the nested graph were made for the type and the rank that it declares.
void CheckInput(const Slot& slot, const TypeInfo& declared, const Value& given) {
  if (!Fits(given, declared)) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument, "input '{}' of the nested graph is {}, {} is expected", slot.name, given.type(),
         declared);
  }
  const Tensor* tensor = given.tensor_if();
  Require(tensor == nullptr || slot.rank == kNone || static_cast<size_t>(slot.rank) == tensor->shape().rank(),
          "input '{}' of the nested graph has shape {}, {} dimensions are declared", slot.name, OptionalShape{tensor},
          slot.rank);
}

}  // namespace

Plan::Plan() = default;
Plan::~Plan() = default;

template <class Given>
void PlannedSubgraph::RunWith(KernelContext& context, std::span<Given> inputs, std::span<Value> outputs) {
  const Plan& plan = executor_.plan();
  RequireStack(kStackOfSteps, "a nested graph");
  Require(inputs.size() == num_inputs(), "the nested graph takes {} inputs, {} are given", num_inputs(), inputs.size());
  Require(outputs.size() == num_outputs(), "the nested graph has {} outputs, {} are asked for", num_outputs(),
          outputs.size());
  // The executor makes every context that a kernel of a session sees.
  auto& outer = static_cast<StepContext&>(context);
  RunState state = outer.state();
  ++state.depth;
  const Executor::Lease frame(executor_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SlotIndex slot = plan.graph_inputs[i];
    if (slot == kNone) continue;
    CheckInput(plan.slots[static_cast<size_t>(slot)], plan.input_types[i], inputs[i]);
    frame->value(slot) = std::move(inputs[i]);  // copies what is const
  }
  for (const auto& [slot, position] : plan.captures) {
    const Value* captured = outer.input_value(position);
    if (captured != nullptr) frame->value(slot) = *captured;
  }
  executor_.Run(*frame, state);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = executor_.TakeResult(*frame, plan.graph_outputs[i]);
}

void PlannedSubgraph::Run(KernelContext& context, std::span<const Value> inputs, std::span<Value> outputs) {
  RunWith(context, inputs, outputs);
}
void PlannedSubgraph::RunTaking(KernelContext& context, std::span<Value> inputs, std::span<Value> outputs) {
  RunWith(context, inputs, outputs);
}

}  // namespace tessera
