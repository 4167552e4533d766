#include "optimizer/evaluate.h"

#include <algorithm>

#include "base/check.h"
#include "runtime/kernel_info.h"
#include "runtime/scratch.h"

namespace tessera {
namespace {

/// The host's memory up to a limit.
class BoundedAllocator final : public Allocator {
 public:
  explicit BoundedAllocator(int64_t limit) : left_(limit) {}
  const MemoryInfo& memory() const noexcept override { return HostAllocator().memory(); }
  void* Allocate(size_t bytes) override {
    if (bytes > static_cast<size_t>(left_.load())) Fail(ErrorCode::kRuntimeException, "constant folding is limited to less memory");
    left_ -= static_cast<int64_t>(bytes);
    return HostAllocator().Allocate(bytes);
  }
  void Free(void* buffer) noexcept override { HostAllocator().Free(buffer); }

 private:
  std::atomic<int64_t> left_;
};

class EvaluationContext final : public KernelContext {
 public:
  EvaluationContext(const Node& node, const Graph& graph, std::span<const Value> inputs, ThreadPool& threads, int64_t most_bytes)
      : node_(node),
        graph_(graph),
        threads_(threads),
        most_bytes_(most_bytes),
        working_(4 * most_bytes + (int64_t{64} << 20)),
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
    if (!held.defined() || !held.is(type) || held.shape() != shape) held = Tensor(type, shape);
    return &held;
  }

  void set_output(size_t i, Value value) override {
    if (!has_output(i)) return;
    const Tensor& tensor = value.tensor();  // throws for anything else
    const bool shares_input = std::any_of(pointers_.begin(), pointers_.end(), [&](const Value* input) {
      const Tensor* given = input == nullptr ? nullptr : input->tensor_if();
      return given != nullptr && given->owner() != nullptr && given->owner() == tensor.owner();
    });
    outputs_[i] = shares_input ? tensor : tensor.Clone();  // the working memory goes away
  }

  ThreadPool& threads() const noexcept override { return threads_; }
  Stream* stream() const noexcept override { return nullptr; }
  Allocator& allocator() const noexcept override { return working_; }
  bool cancelled() const noexcept override { return false; }

  std::vector<Tensor>& outputs() noexcept { return outputs_; }

 protected:
  void* ScratchBytes(size_t count, size_t element_size) override {
    size_t bytes;
    if (__builtin_mul_overflow(count, element_size, &bytes)) Fail(ErrorCode::kRuntimeException, "out of memory");
    return scratch_.Take(bytes);
  }

 private:
  const Node& node_;
  const Graph& graph_;
  ThreadPool& threads_;
  const int64_t most_bytes_;
  mutable BoundedAllocator working_;
  Scratch scratch_;
  std::vector<const Value*> pointers_;
  std::vector<Tensor> outputs_;
};

}  // namespace

std::optional<std::vector<Tensor>> Evaluate(const Graph& graph, const Node& node, const SessionResources& resources,
                                            int64_t most_bytes) {
  // The node alone: a viewer of the whole graph would sort it each time.
  Graph alone;
  Node probe = node;
  std::vector<Value> inputs;
  for (ValueIndex& input : probe.inputs) {
    inputs.emplace_back();
    if (input == kNone) continue;
    const Tensor* constant = graph.constant(input);
    if (constant == nullptr) return std::nullopt;
    inputs.back() = *constant;
    input = alone.AddConstant("", *constant);
  }
  for (ValueIndex& output : probe.outputs) {
    if (output != kNone) output = alone.AddValue("", graph.value(output).type);
  }
  try {
    const Node& placed = alone.node(alone.AddNode(std::move(probe)));
    const GraphViewer viewer(alone);
    const ExecutionProvider& provider = *resources.providers.back().provider;
    const KernelDef* def = provider.kernels().Find(viewer, placed);
    if (def == nullptr) return std::nullopt;
    const NodeKernelInfo info(placed, viewer, provider, resources, {});
    const std::unique_ptr<Kernel> kernel = def->factory()(info);
    EvaluationContext context(placed, alone, inputs, *resources.threads, most_bytes);
    kernel->Compute(context);
    for (size_t i = 0; i < placed.outputs.size(); ++i) {
      if (!context.has_output(i)) continue;
      const ElementType expected = alone.value(placed.outputs[i]).type.element;
      const ElementType computed = context.outputs()[i].type();
      if (computed == ElementType::kUndefined || (expected != ElementType::kUndefined && expected != computed)) return std::nullopt;
    }
    return std::move(context.outputs());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace tessera
