#include "optimizer/analysis/evaluate.h"

#include <algorithm>

#include "base/check.h"
#include "base/held_bytes.h"
#include "base/value_type.h"
#include "graph/check_types.h"
#include "graph/copy_node.h"
#include "runtime/kernel_info.h"
#include "runtime/memory/scratch.h"
#include "runtime/threads/cancellable_pool.h"

namespace tessera {
namespace {

/// The load's memory up to a limit.
class BoundedAllocator final : public Allocator {
 public:
  BoundedAllocator(Allocator& raw, int64_t limit) : raw_(raw), left_(limit) {}
  const MemoryInfo& memory() const noexcept override { return raw_.memory(); }
  void* Allocate(size_t bytes) override {
    Take(bytes);
    return raw_.Allocate(bytes);
  }
  void Free(void* buffer) noexcept override { raw_.Free(buffer); }
  void Charge(size_t bytes) override {
    Take(bytes);
    raw_.Charge(bytes);
  }
  void Refund(size_t bytes) noexcept override {
    raw_.Refund(bytes);
    left_ += static_cast<int64_t>(bytes);
  }

 private:
  void Take(size_t bytes) {
    const auto asked = static_cast<int64_t>(bytes);
    if (asked < 0 || left_.fetch_sub(asked) < asked)
      Fail(ErrorCode::kRuntimeException, "constant folding is limited to less memory");
  }

  Allocator& raw_;
  std::atomic<int64_t> left_;
};

[[noreturn]] void ThrowStopped(const StopSignal&) { Fail(ErrorCode::kFail, "constant folding is limited to less time"); }

/// Ends with the load, and when the node's time is over.
StopSignal StopOf(const SessionResources& resources, std::chrono::milliseconds time) {
  const StopSignal of_load = resources.limits == nullptr ? StopSignal() : resources.limits->stop();
  return time == std::chrono::milliseconds::max() ? of_load : of_load.Within(time);
}

class EvaluationContext final : public KernelContext {
 public:
  EvaluationContext(const Node& node, const Graph& graph, std::span<const Value> inputs, const SessionResources& resources,
                    const EvaluationLimits& limits)
      : node_(node),
        graph_(graph),
        stop_(StopOf(resources, limits.time)),
        threads_(*resources.threads, stop_, ThrowStopped),
        kept_(resources.load_memory()),
        most_bytes_(limits.output_bytes),
        working_(kept_, 4 * limits.output_bytes + (int64_t{64} << 20)),
        scratch_(working_),
        outputs_(node.outputs.size()) {
    for (const Value& input : inputs) pointers_.push_back(input.is_none() ? nullptr : &input);
    inputs_ = pointers_;
    num_outputs_ = node.outputs.size();
    scratch_.Begin(nullptr, 0);
  }

  bool has_output(size_t i) const noexcept override { return i < node_.outputs.size() && node_.outputs[i] != kNone; }

  Tensor* output(size_t i, const Shape& shape) override {
    return has_output(i) ? output(i, graph_.value(node_.outputs[i]).type.element, shape) : nullptr;
  }

  Tensor* output(size_t i, ElementType type, const Shape& shape) override {
    if (!has_output(i)) return nullptr;
    if (type == ElementType::kUndefined) Fail(ErrorCode::kInvalidGraph, "the element type of output {} is not known", i);
    if (ByteSize(type, shape.num_elements()) > static_cast<size_t>(most_bytes_)) {
      Fail(ErrorCode::kRuntimeException, "output {} is too large to fold", i);
    }
    Tensor& held = outputs_[i];
    if (!held.defined() || !held.is(type) || held.shape() != shape) held = Tensor(type, shape, kept_);
    return &held;
  }

  void set_output(size_t i, Value value) override {
    if (!has_output(i)) return;
    const Tensor& tensor = value.tensor();  // throws for anything else
    const bool shares_input = std::any_of(pointers_.begin(), pointers_.end(), [&](const Value* input) {
      const Tensor* given = input == nullptr ? nullptr : input->tensor_if();
      return given != nullptr && given->owner() != nullptr && given->owner() == tensor.owner();
    });
    outputs_[i] = shares_input ? tensor : tensor.Clone(kept_);  // the working memory goes away
  }

  ThreadPool& threads() const noexcept override { return threads_; }
  Stream* stream() const noexcept override { return nullptr; }
  Allocator& allocator() const noexcept override { return working_; }
  bool cancelled() const noexcept override { return stop_.requested(); }
  const StopSignal& stop() const noexcept { return stop_; }

  std::vector<Tensor>& outputs() noexcept { return outputs_; }

  /// Whether all that was asked for is there, of the types that `graph` says, and not too large.
  bool IsComplete() const {
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      if (!has_output(i)) continue;
      const Tensor& computed = outputs_[i];
      const ElementType expected = graph_.value(node_.outputs[i]).type.element;
      if (!computed.defined() || (expected != ElementType::kUndefined && expected != computed.type())) return false;
      if (computed.is(ElementType::kString) && HeldBytes(Value(computed)) > static_cast<size_t>(most_bytes_)) return false;
    }
    return true;
  }

 protected:
  void* ScratchBytes(size_t count, size_t element_size) override {
    size_t bytes;
    if (__builtin_mul_overflow(count, element_size, &bytes)) Fail(ErrorCode::kRuntimeException, "out of memory");
    return scratch_.Take(bytes);
  }

 private:
  const Node& node_;
  const Graph& graph_;
  const StopSignal stop_;
  mutable CancellablePool threads_;
  Allocator& kept_;
  const int64_t most_bytes_;
  mutable BoundedAllocator working_;
  Scratch scratch_;
  std::vector<const Value*> pointers_;
  std::vector<Tensor> outputs_;
};

}  // namespace

std::optional<std::vector<Tensor>> Evaluate(const Graph& graph, const Node& node, const SessionResources& resources,
                                            const EvaluationLimits& limits) {
  std::vector<Value> inputs;
  for (const ValueIndex input : node.inputs) {
    inputs.emplace_back();
    if (input == kNone) continue;
    const Tensor* constant = graph.constant(input);
    if (constant == nullptr) return std::nullopt;
    inputs.back() = *constant;
  }
  // A constant of a type that nobody knew before would bring its readers a type that nobody checks.
  const bool known = std::ranges::all_of(
      node.outputs, [&](ValueIndex output) { return output == kNone || IsComplete(graph.value(output).type); });
  if (!known) return std::nullopt;
  try {
    Graph alone;  // a viewer of the whole graph would sort it each time
    const Node& placed = alone.node(CopyNode(graph, node, alone));
    CheckTypes(alone, placed);
    const GraphViewer viewer(alone);
    const ExecutionProvider& provider = *resources.providers.back().provider;
    const KernelDef* def = provider.kernels().Find(viewer, placed);
    if (def == nullptr) return std::nullopt;
    const NodeKernelInfo info(placed, viewer, provider, resources, {});
    const std::unique_ptr<Kernel> kernel = def->factory()(info);
    EvaluationContext context(placed, alone, inputs, resources, limits);
    const CancelScope scope(&context.stop(), ThrowStopped);
    kernel->Compute(context);
    if (context.cancelled()) {  // what is there may be half of it
      resources.CheckLoad();
      return std::nullopt;
    }
    return context.IsComplete() ? std::optional(std::move(context.outputs())) : std::nullopt;
  } catch (const std::exception&) {
    resources.CheckLoad();
    return std::nullopt;
  }
}

}  // namespace tessera
