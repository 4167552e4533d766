#include "runtime/executor.h"

#include <new>
#include <utility>

#include "base/check.h"
#include "graph/graph.h"
#include "runtime/own_value.h"
#include "runtime/step_context.h"

namespace tessera {

void RethrowAt(const Node& node, const Graph& graph) {
  const GraphViewer viewer(graph);
  const std::string label = node.Label(&viewer);
  try {
    throw;
  } catch (const Error& error) {
    throw error.At(label);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kRuntimeException, label + ": out of memory");
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kRuntimeException, label + ": " + error.what());
  } catch (...) {
    throw Error(ErrorCode::kRuntimeException, label + ": unknown exception");
  }
}

void ThrowCancelled() { Fail(ErrorCode::kFail, "the run was cancelled"); }

Executor::Executor(std::unique_ptr<Plan> plan, const SessionResources& resources, bool nested)
    : plan_(std::move(plan)), resources_(resources), nested_(nested) {
  for (const MemorySpace& memory : resources_.memories) addressable_.push_back(memory.allocator->addressable());
}

Executor::~Executor() = default;

std::unique_ptr<Frame> Executor::TakeFrame() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Frame> frame = std::move(idle_.back());
      idle_.pop_back();
      return frame;
    }
    idle_.reserve(idle_.capacity() + 1);  // giving back never allocates
  }
  return std::make_unique<Frame>(*plan_, resources_);
}

void Executor::GiveBack(std::unique_ptr<Frame> frame) noexcept {
  for (const SlotIndex slot : plan_->graph_inputs) {
    if (slot != kNone) frame->value(slot) = Value();
  }
  for (const auto& [slot, position] : plan_->captures) frame->value(slot) = Value();
  for (const SlotIndex slot : plan_->graph_outputs) {
    if (plan_->slots[static_cast<size_t>(slot)].source == SlotSource::kStep) frame->UnbindResult(slot);
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(frame));
}

void Executor::Shrink() {
  std::vector<std::unique_ptr<Frame>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(idle_);
}

void Executor::Run(Frame& frame, RunState& state) {
  if (resources_.memory_pattern) {
    RunPlanned(frame, state);
  } else {
    RunSteps(frame, state);
  }
}

void Executor::RunPlanned(Frame& frame, RunState& state) {
  if (frame.PlanFits()) return RunSteps(frame, state);
  std::vector<Shape> shapes = frame.InputShapes();
  if (auto known = shape_plans_.Find(shapes); known != nullptr) {
    try {
      frame.UsePlan(std::move(known));
    } catch (const Error&) {
      frame.UsePlan(nullptr);  // one by one the buffers may still fit; else the error there names the node
    }
    return RunSteps(frame, state);
  }
  frame.UsePlan(nullptr);
  if (!shape_plans_.WorthLearning(shapes, nested_)) return RunSteps(frame, state);
  MemoryTrace trace(*plan_);
  frame.set_trace(&trace);
  struct StopTracing {
    Frame& frame;
    ~StopTracing() { frame.set_trace(nullptr); }
  } stop{frame};
  RunSteps(frame, state);
  shape_plans_.Insert(
      std::make_shared<ShapePlan>(ShapePlan{std::move(shapes), MakeMemoryPlan(*plan_, trace, addressable_)}));
}

void Executor::RunSteps(Frame& frame, RunState& state) {
  StepContext context(frame, state);
  const Step* const first = plan_->steps.data();
  const Step* const end = first + plan_->steps.size();
  const Step* step = first;
  try {
    for (; step != end; ++step) {
      if (state.cancelled()) [[unlikely]] ThrowCancelled();
      const auto index = static_cast<size_t>(step - first);
      context.Begin(*step);
      frame.BeginScratch(index);
      step->kernel->Compute(context);
      frame.EndScratch(index);
      for (const SlotIndex slot : plan_->freed_by(*step)) frame.Release(slot);
    }
  } catch (...) {
    frame.EndScratch(static_cast<size_t>(step - first));
    for (size_t slot = 0; slot < plan_->slots.size(); ++slot) {
      if (plan_->slots[slot].source == SlotSource::kStep) frame.Release(static_cast<SlotIndex>(slot));
    }
    RethrowAt(*step->node, *plan_->graph);
  }
}

Value Executor::TakeResult(Frame& frame, size_t output) {
  const SlotIndex slot = plan_->graph_outputs[output];
  const Slot& info = plan_->slots[static_cast<size_t>(slot)];
  Value result = info.source == SlotSource::kStep ? std::exchange(frame.value(slot), Value()) : frame.value(slot);
  if (Tensor* tensor = result.tensor_if(); tensor != nullptr) {
    // Somebody else who holds the buffer (the caller's input, a constant, another output) must not see writes to it.
    if (tensor->owner() == nullptr || (!nested_ && tensor->owner().use_count() > 1)) {
      *tensor = CloneInMemory(*tensor, *resources_.memories[static_cast<size_t>(info.memory)].allocator, resources_);
    }
  } else {
    MakeOwned(result, resources_);
  }
  return result;
}

void Executor::StoreResult(Frame& frame, size_t output, Value& result) {
  Tensor* buffer = result.tensor_if();
  if (buffer == nullptr || !buffer->defined()) {
    result = TakeResult(frame, output);
    return;
  }
  const SlotIndex slot = plan_->graph_outputs[output];
  const Tensor* computed = frame.value(slot).tensor_if();
  const std::string_view name = plan_->slots[static_cast<size_t>(slot)].name;
  Require(computed != nullptr, "output '{}' is not a tensor, but a tensor is given to hold it", name);
  if (computed->raw() != buffer->raw()) CopyToResult(*computed, *buffer, name, resources_);
}

}  // namespace tessera
