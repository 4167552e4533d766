#pragma once

#include "base/check.h"
#include "runtime/frame.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// The KernelContext of a step under way in a frame.
class StepContext final : public KernelContext {
 public:
  StepContext(Frame& frame, RunState& state, Scratch& scratch) : frame_(frame), state_(state), scratch_(scratch) {}

  void Begin(const Step& step) noexcept {
    step_ = &step;
    inputs_ = frame_.inputs_of(step);
    outputs_ = frame_.plan().output_slots.data() + step.first_output;
    num_outputs_ = step.num_outputs;
  }

  /// Types of outputs that the graph does not state, until the next call.
  void set_late_types(std::span<const ElementType> types) noexcept { late_types_ = types; }

  RunState& state() const noexcept { return state_; }
  Frame& frame() const noexcept { return frame_; }
  const Step& step() const noexcept { return *step_; }

  Value TakeInput(size_t i) override { return frame_.Take(*step_, i); }

  bool has_output(size_t i) const noexcept override { return i < num_outputs_ && outputs_[i] != kNone; }
  Tensor* output(size_t i, const Shape& shape) override {
    if (!has_output(i)) return nullptr;
    ElementType type = frame_.plan().slots[static_cast<size_t>(outputs_[i])].element;
    if (type == ElementType::kUndefined && i < late_types_.size()) [[unlikely]]
      type = late_types_[i];
    return frame_.Output(*step_, outputs_[i], type, shape);
  }
  Tensor* output(size_t i, ElementType type, const Shape& shape) override {
    if (!has_output(i)) return nullptr;
    return frame_.Output(*step_, outputs_[i], type, shape);
  }
  Tensor* joined_output(size_t i, ElementType type, const Shape& shape) override {
    if (!has_output(i)) return nullptr;
    return frame_.JoinedOutput(*step_, outputs_[i], type, shape);
  }
  void set_output(size_t i, Value value) override {
    if (has_output(i)) frame_.SetOutput(*step_, outputs_[i], std::move(value));
  }

  ThreadPool& threads() const noexcept override { return *state_.threads; }
  Stream* stream() const noexcept override {
    return frame_.streams.empty() ? nullptr : frame_.streams[static_cast<size_t>(step_->provider)].get();
  }
  Allocator& allocator() const noexcept override {
    const SessionResources& resources = frame_.resources();
    return *resources.memories[static_cast<size_t>(resources.providers[static_cast<size_t>(step_->provider)].memory)]
                .allocator;
  }
  bool cancelled() const noexcept override { return state_.cancelled(); }

 protected:
  void* ScratchBytes(size_t count, size_t element_size) override {
    size_t bytes;
    if (__builtin_mul_overflow(count, element_size, &bytes)) {
      Fail(ErrorCode::kRuntimeException, "out of memory: {} * {} bytes of scratch memory were asked for", count,
           element_size);
    }
    return scratch_.Take(bytes);
  }

 private:
  Frame& frame_;
  RunState& state_;
  Scratch& scratch_;
  const Step* step_ = nullptr;
  const SlotIndex* outputs_ = nullptr;
  std::span<const ElementType> late_types_;  // by output; empty but in a LateKernel
};

/// The error under way, as tessera::Error with the node's name before it and `details` after it.
[[noreturn]] void RethrowAt(const Node& node, const Graph& graph, std::string_view details = {});

/// "; inputs: a float[2], b float[3]": what a step that failed was given.
std::string DescribeInputs(const Step& step, Frame& frame) noexcept;

}  // namespace tessera
