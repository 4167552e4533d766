#pragma once

// The mutable half of a run: values by slot, scratch memory, planned buffers. One frame serves one run at a time.

#include <memory>
#include <mutex>
#include <vector>

#include "base/stop_signal.h"
#include "runtime/memory/scratch.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shape_plans.h"
#include "runtime/resources.h"

namespace tessera {

/// What a run hands down to nested graphs.
struct RunState {
  StopSignal stop;
  ThreadPool* threads = nullptr;
  Profiler* profiler = nullptr;
  int depth = 0;

  bool cancelled() const noexcept { return stop.requested(); }
};

/// Which of many buffers a tensor lies in; one that several hold lies in the last of few, and in any one of many.
class BufferFinder {
 public:
  /// kNone where it lies in none. The values of `slots` are those of the first call since Forget.
  SlotIndex Find(std::span<const SlotIndex> slots, const std::vector<Value>& values, const Tensor& tensor);
  void Forget() noexcept { known_ = false; }

 private:
  struct Buffer {
    const std::byte* begin;
    const std::byte* end;  // the last one of those of all buffers up to this one
    SlotIndex slot;        // whose end that is
  };
  std::vector<Buffer> buffers_;  // by begin; keeps its memory from run to run
  bool known_ = false;
};

class Frame {
 public:
  Frame(const Plan& plan, const SessionResources& resources);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const Plan& plan() const noexcept { return plan_; }
  const SessionResources& resources() const noexcept { return resources_; }

  Value& value(SlotIndex slot) noexcept { return values_[static_cast<size_t>(slot)]; }
  /// Kernel inputs of a step, in place for the whole life of the frame.
  std::span<const Value* const> inputs_of(const Step& step) const noexcept {
    return {input_pointers_.data() + step.first_input, step.num_inputs};
  }

  /// Storage for a step's output; see KernelContext::output and, for what is made of the inputs, joined_output.
  Tensor* Output(const Step& step, SlotIndex slot, ElementType type, const Shape& shape, bool joined = false) {
    BufferBinding& binding = bindings_[static_cast<size_t>(slot)];
    Tensor* tensor = values_[static_cast<size_t>(slot)].tensor_if();
    if (tensor != nullptr && tensor->data_ == binding.data && tensor->type_ == type && tensor->shape_ == shape &&
        MayWriteTo(step, binding, tensor->byte_size_, joined)) [[likely]] {
      return tensor;
    }
    return Rebind(step, slot, type, shape, joined);
  }
  Tensor* JoinedOutput(const Step& step, SlotIndex slot, ElementType type, const Shape& shape) {
    if (trace_ != nullptr) [[unlikely]]
      TraceJoin(step);
    return Output(step, slot, type, shape, true);
  }
  void SetOutput(const Step& step, SlotIndex slot, Value value);
  /// See KernelContext::TakeInput.
  Value Take(const Step& step, size_t input);

  /// Other inputs than those of the run before may be there.
  void BeginRun() noexcept {
    given_.Forget();
    read_by_ = nullptr;
  }

  /// Lets go of what the slot owns; planned buffers stay bound.
  void Release(SlotIndex slot) noexcept;

  /// Makes the caller's buffer the place that output slot `slot` is written to.
  void BindResult(SlotIndex slot, const Tensor& buffer);
  void UnbindResult(SlotIndex slot) noexcept;
  bool is_bound(SlotIndex slot) const noexcept { return bindings_[static_cast<size_t>(slot)].caller; }

  /// Takes the plan's buffers and binds planned slots to them. Null: every value is allocated by itself.
  void UsePlan(std::shared_ptr<const ShapePlan> plan);
  /// True when the plan in use is for the shapes of the inputs (and captures) that the frame holds now.
  bool PlanFits() const noexcept;
  /// Shapes of inputs and captures; nothing for what is no tensor.
  std::vector<Shape> InputShapes() const;
  /// While set, sizes and sharing are written down for MakeMemoryPlan.
  void set_trace(MemoryTrace* trace) noexcept { trace_ = trace; }
  /// Gives planned buffers back.
  void DropBuffers() noexcept;

  /// Planned scratch memory of a step.
  void BeginScratch(size_t step, Scratch& scratch) const noexcept {
    if (memory_plan_ == nullptr || memory_plan_->scratch[step].block < 0) return scratch.Begin(nullptr, 0);
    const MemoryPlan::Placement& place = memory_plan_->scratch[step];
    scratch.Begin(static_cast<std::byte*>(blocks_[static_cast<size_t>(place.block)]) + place.offset, place.bytes);
  }
  void EndScratch(size_t step, Scratch& scratch) noexcept {
    const size_t used = scratch.End();
    if (trace_ != nullptr) [[unlikely]]
      trace_->scratch[step] = used;
  }
  Scratch& scratch() noexcept { return scratch_; }

  /// Copy steps that this run leaves out: their target is bound already.
  void SkipStep(size_t step) {
    skipped_.resize(plan_.steps.size());
    skipped_[step] = true;
  }
  bool is_skipped(const Step& step) const noexcept {
    return !skipped_.empty() && skipped_[static_cast<size_t>(&step - plan_.steps.data())];
  }
  void ClearSkipped() noexcept { skipped_.clear(); }

  /// Waits for all device queues.
  void Synchronize();

  std::vector<std::unique_ptr<Stream>> streams;  // by provider; empty without devices

 private:
  /// Where a slot's tensor is expected: planned memory or the caller's buffer.
  struct BufferBinding {
    void* data = nullptr;
    size_t bytes = 0;
    bool caller = false;
    SlotIndex in_place_of = kNone;                         // an input of the step that lives in the same place
    const std::vector<MemoryPlan::Part>* parts = nullptr;  // what it is joined of, where inputs of the step live in it
  };

  /// False when writing `bytes` to the bound buffer would overwrite what the step still reads: the input whose place it
  /// takes has another size in this run, or one that it is joined of another size or place.
  bool MayWriteTo(const Step& step, const BufferBinding& binding, size_t bytes, bool joined) const noexcept {
    if (binding.parts != nullptr) [[unlikely]]
      return joined && PartsAreInPlace(step, binding);
    if (binding.in_place_of == kNone) return true;
    const Tensor* input = values_[static_cast<size_t>(binding.in_place_of)].tensor_if();
    if (input == nullptr || input->data_ == binding.data) return input == nullptr || input->byte_size_ == bytes;
    const auto* read = static_cast<const std::byte*>(input->data_);
    const auto* written = static_cast<const std::byte*>(binding.data);
    return read + input->byte_size_ <= written || written + bytes <= read;
  }

  /// True where the inputs that the bound value is joined of are as planned: then so is what else lies among them.
  bool PartsAreInPlace(const Step& step, const BufferBinding& binding) const noexcept;
  void TraceJoin(const Step& step);
  /// The input of the step whose buffer the tensor lies in, or kNone.
  SlotIndex HolderOf(const Step& step, const Tensor& tensor);
  Tensor* Rebind(const Step& step, SlotIndex slot, ElementType type, const Shape& shape, bool joined);
  bool TakeInput(const Step& step, SlotIndex slot, ElementType type, const Shape& shape);
  Allocator& allocator_of(SlotIndex slot) const noexcept;

  const Plan& plan_;
  const SessionResources& resources_;
  std::vector<Value> values_;
  std::vector<BufferBinding> bindings_;
  std::vector<const Value*> input_pointers_;
  std::shared_ptr<const ShapePlan> shape_plan_;
  const MemoryPlan* memory_plan_ = nullptr;  // of shape_plan_
  std::vector<void*> blocks_;                // by MemoryPlan::blocks
  std::vector<int16_t> block_memories_;
  MemoryTrace* trace_ = nullptr;

  BufferFinder given_;             // among the graph's inputs
  BufferFinder read_;              // among the inputs of a step
  const Step* read_by_ = nullptr;  // which
  std::mutex read_mutex_;          // for both

  Scratch scratch_;
  std::vector<bool> skipped_;
};

}  // namespace tessera
