#include "runtime/executor.h"

#include <new>
#include <utility>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/fork.h"
#include "base/shortened.h"
#include "graph/graph.h"
#include "graph/node_label.h"
#include "runtime/memory/own_value.h"
#include "runtime/profile/profiler.h"
#include "runtime/step_context.h"
#include "runtime/subgraph.h"
#include "runtime/threads/parallel_run.h"

namespace tessera {
namespace {

constexpr std::string_view kInputs = "; inputs:";

}  // namespace

void RethrowAt(const Node& node, const Graph& graph, std::string_view details) {
  const std::string label = ModelLabel(graph, node);
  try {
    throw;
  } catch (const Error& error) {
    const std::string_view text = error.what();
    const bool told = text.find(kInputs) != std::string_view::npos;  // by a node of a nested graph
    throw Error(error.code(), fmt::format("{}: {}{}", label, text, told ? "" : details));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kRuntimeException,
                label + ": out of memory; use smaller inputs, or fewer runs at once" + std::string(details));
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kRuntimeException, fmt::format("{}: {}{}", label, error.what(), details));
  } catch (...) {
    throw Error(ErrorCode::kRuntimeException, label + ": unknown exception");
  }
}

std::string DescribeInputs(const Step& step, Frame& frame) noexcept try {
  constexpr size_t kMost = 8;
  std::string text;
  const std::span<const SlotIndex> inputs = frame.plan().inputs_of(step);
  for (size_t i = 0; i < inputs.size() && i < kMost; ++i) {
    if (inputs[i] == kNone) continue;
    text += fmt::format("{} {} {}", text.empty() ? kInputs : ",",
                        Shortened(frame.plan().slots[static_cast<size_t>(inputs[i])].name),
                        Profiler::Describe(&frame.value(inputs[i])));
  }
  return inputs.size() > kMost ? text + ", ..." : text;
} catch (...) {
  return {};  // out of memory: the error goes without
}

Executor::Executor(std::unique_ptr<Plan> plan, const SessionResources& resources, bool nested)
    : plan_(std::move(plan)), resources_(resources), nested_(nested) {
  for (const MemorySpace& memory : resources_.memories) {
    addressable_.push_back(memory.allocator->addressable());
    auto* arena = dynamic_cast<Arena*>(memory.allocator.get());
    if (arena != nullptr && !nested_) registrations_.emplace_back(*arena, *this);  // nested ones hear of it from theirs
  }
}

Executor::~Executor() { registrations_.clear(); }

std::unique_ptr<Frame> Executor::TakeFrame() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Frame> frame = std::move(idle_.back());
      idle_.pop_back();
      return frame;
    }
    if (idle_.capacity() <= num_frames_) idle_.reserve(2 * num_frames_ + 1);
    ++num_frames_;
  }
  try {
    return std::make_unique<Frame>(*plan_, resources_);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --num_frames_;
    throw;
  }
}

void Executor::GiveBack(std::unique_ptr<Frame> frame) noexcept {
  for (const SlotIndex slot : plan_->graph_inputs) {
    if (slot != kNone) frame->value(slot) = Value();
  }
  for (const auto& [slot, position] : plan_->captures) frame->value(slot) = Value();
  for (const SlotIndex slot : plan_->graph_outputs) {
    if (plan_->slots[static_cast<size_t>(slot)].source == SlotSource::kStep) frame->UnbindResult(slot);
  }
  for (const Plan::BorderCopy& copy : plan_->output_copies) frame->UnbindResult(copy.device);
  for (const Plan::BorderCopy& copy : plan_->input_copies) {
    // A bound device tensor stood here; the plan's own buffer is bound again by the next run.
    if (frame->is_skipped(plan_->steps[static_cast<size_t>(copy.step)])) frame->value(copy.device) = Value();
  }
  frame->ClearSkipped();
  for (const auto& stream : frame->streams) {
    if (stream != nullptr) stream->OnRunEnd();
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(frame));
}

void Executor::ReleaseIdle() noexcept {
  for (const Plan::Nested& nested : plan_->nested) nested.runner->ReleaseIdle();
  while (true) {  // frames go without the lock: their buffers take the arena's
    std::unique_ptr<Frame> frame;
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return;
    frame = std::move(idle_.back());
    idle_.pop_back();
    --num_frames_;
  }
}

void Executor::Run(Frame& frame, RunState& state) {
  frame.BeginRun();
  if (resources_.parallel && !nested_ && !LostInFork(ForeignThreads::kTbb)) {
    RunParallel(*this, frame, state);
  } else if (resources_.memory_pattern) {
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
      frame.DropBuffers();  // one by one the buffers may still fit; else the error there names the node
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
  // The next run takes its blocks whole; what this one had piece by piece would lie beside them, unused but resident.
  for (const MemorySpace& memory : resources_.memories) {
    if (memory.allocator->addressable()) memory.allocator->Shrink();
  }
}

void Executor::RunSteps(Frame& frame, RunState& state) {
  Scratch& scratch = frame.scratch();
  StepContext context(frame, state, scratch);
  const Step* const first = plan_->steps.data();
  const Step* const end = first + plan_->steps.size();
  const Step* step = first;
  try {
    for (; step != end; ++step) {
      if (state.cancelled()) [[unlikely]]
        ThrowCancelled(state.stop);
      if (step->synchronize != 0) [[unlikely]]
        SynchronizeBefore(*step, frame);
      const auto index = static_cast<size_t>(step - first);
      context.Begin(*step);
      frame.BeginScratch(index, scratch);
      if (state.profiler == nullptr) [[likely]] {
        step->kernel->Compute(context);
      } else {
        ComputeProfiled(*step, context, state);
      }
      frame.EndScratch(index, scratch);
      for (const SlotIndex slot : plan_->freed_by(*step)) frame.Release(slot);
    }
    if (!frame.streams.empty()) [[unlikely]]
      frame.Synchronize();
    for (const SlotIndex slot : plan_->held_slots) frame.Release(slot);
  } catch (...) {
    scratch.End();
    const std::string details = step == end || state.cancelled() ? "" : DescribeInputs(*step, frame);
    CleanUp(frame);
    if (first == end) throw;  // a plan without steps: no node to name
    RethrowAt(step != end ? *step->node : *(step - 1)->node, *plan_->graph, details);
  }
}

void Executor::SynchronizeBefore(const Step& step, Frame& frame) {
  for (size_t i = 0; i < frame.streams.size(); ++i) {
    if ((step.synchronize >> i & 1) != 0 && frame.streams[i] != nullptr) frame.streams[i]->Synchronize();
  }
}

void Executor::ComputeProfiled(const Step& step, StepContext& context, const RunState& state) const {
  const std::string_view provider = resources_.providers[static_cast<size_t>(step.provider)].provider->name();
  Profiler::Clock::time_point start, finish;
  {
    Profiler::NodeScope scope(*state.profiler);
    scope.Describe(*step.node, provider);
    start = Profiler::Clock::now();
    step.kernel->Compute(context);
    finish = Profiler::Clock::now();
  }
  std::vector<const Value*> outputs;
  for (const SlotIndex slot : plan_->outputs_of(step))
    outputs.push_back(slot == kNone ? nullptr : &context.frame().value(slot));
  std::call_once(viewer_made_, [&] { viewer_ = std::make_unique<GraphViewer>(*plan_->graph); });
  state.profiler->AddNode(*step.node, *viewer_, provider, context, outputs, step.kernel->Implementation(context), start,
                          finish);
}

/// After an error: nothing that the run allocated stays, and no device still works on it.
void Executor::CleanUp(Frame& frame) noexcept {
  try {
    frame.Synchronize();
  } catch (...) {  // the first error is the one to report
  }
  for (size_t slot = 0; slot < plan_->slots.size(); ++slot) {
    if (plan_->slots[slot].source == SlotSource::kStep) frame.Release(static_cast<SlotIndex>(slot));
  }
}

Value Executor::TakeResult(Frame& frame, SlotIndex slot) {
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

void Executor::StoreResult(Frame& frame, SlotIndex slot, Value& result) {
  Tensor* buffer = result.tensor_if();
  if (buffer == nullptr || !buffer->defined()) {
    result = TakeResult(frame, slot);
    return;
  }
  const Tensor* computed = frame.value(slot).tensor_if();
  const std::string_view name = plan_->slots[static_cast<size_t>(slot)].name;
  Require(computed != nullptr, "output '{}' is not a tensor, but a tensor is given to hold it; give an empty value", name);
  if (computed->raw() != buffer->raw()) CopyToResult(*computed, *buffer, name, resources_);
}

}  // namespace tessera
