#include "cpu/engine/on_texts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/string_memory.h"
#include "runtime/inner_context.h"

namespace tessera::cpu {
namespace {

constexpr ElementType kViews = MovedType(ElementType::kString);  // never an input or output beside strings
static_assert(sizeof(std::string_view) == 16);

std::span<const std::string_view> TextsOf(const Tensor& views) {
  return {static_cast<const std::string_view*>(views.raw()), static_cast<size_t>(views.num_elements())};
}

/// What the wrapped kernel sees.
class TextContext final : public InnerContext {
 public:
  explicit TextContext(KernelContext& outer)
      : InnerContext(outer), given_(outer.num_inputs()), pointers_(outer.num_inputs()), made_(outer.num_outputs()) {
    for (size_t i = 0; i < pointers_.size(); ++i) {
      pointers_[i] = outer.input_value(i);
      const Tensor* tensor = pointers_[i] == nullptr ? nullptr : pointers_[i]->tensor_if();
      if (tensor == nullptr) continue;
      Require(!tensor->is(kViews), "input {} is tensor({}) beside one of strings", i, ElementTypeName(kViews));
      if (!tensor->is(ElementType::kString)) continue;
      const auto views = outer.scratch<std::string_view>(static_cast<size_t>(tensor->num_elements()));
      const auto* texts = tensor->data<std::string>();
      InCancellablePieces(0, tensor->num_elements(), 3, [&](int64_t begin, int64_t end) {
        std::copy(texts + begin, texts + end, views.begin() + begin);
      });
      given_[i] = Tensor::View(kViews, tensor->shape(), views.data());
      pointers_[i] = &given_[i];
    }
    inputs_ = pointers_;
    num_outputs_ = outer.num_outputs();
  }

  void Finish() {
    for (size_t i = 0; i < made_.size(); ++i) {
      if (made_[i].defined()) WriteTexts(outer_, i, made_[i].shape(), TextsOf(made_[i]));
    }
  }

  /// Of what the graph states: strings, since a kernel that moves them says so by their views' type elsewhere.
  Tensor* output(size_t i, const Shape& shape) override { return output(i, kViews, shape); }
  Tensor* output(size_t i, ElementType type, const Shape& shape) override {
    if (!has_output(i)) return nullptr;
    if (type != kViews) return outer_.output(i, type, shape);
    const auto views = outer_.scratch<std::string_view>(static_cast<size_t>(shape.num_elements()));
    made_[i] = Tensor::View(kViews, shape, views.data());
    return &made_[i];
  }
  void set_output(size_t i, Value value) override {
    const Tensor* tensor = value.tensor_if();
    if (!has_output(i)) return;
    if (tensor == nullptr || !tensor->is(kViews)) return outer_.set_output(i, std::move(value));
    for (size_t k = 0; k < given_.size(); ++k) {
      const Tensor* given = given_[k].tensor_if();
      if (given == nullptr || given->raw() != tensor->raw() || given->num_elements() != tensor->num_elements()) continue;
      return outer_.set_output(i, outer_.input(k)->Reshaped(tensor->shape()));  // the strings themselves
    }
    WriteTexts(outer_, i, tensor->shape(), TextsOf(*tensor));
  }

 private:
  std::vector<Value> given_;
  std::vector<const Value*> pointers_;
  std::vector<Tensor> made_;
};

class TextKernel final : public Kernel {
 public:
  explicit TextKernel(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

  void Compute(KernelContext& context) override {
    bool texts = false;
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      const Tensor* tensor = context.input_value(i) == nullptr ? nullptr : context.input_value(i)->tensor_if();
      texts |= tensor != nullptr && tensor->is(ElementType::kString);
    }
    if (!texts) return kernel_->Compute(context);
    TextContext views(context);
    kernel_->Compute(views);
    views.Finish();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
};

}  // namespace

void WriteTexts(KernelContext& context, size_t i, const Shape& shape, std::span<const std::string_view> texts) {
  const size_t bytes = TextBytes(texts);
  Tensor* output = context.output(i, ElementType::kString, shape);
  if (output == nullptr) return;
  StringCharge charge(*output, context.allocator());
  charge.Add(bytes);
  std::string* to = output->mutable_data<std::string>();
  const double cost = 25 + 0.1 * static_cast<double>(bytes) / static_cast<double>(std::max<size_t>(texts.size(), 1));
  context.threads().ParallelFor(output->num_elements(), cost, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) to[k] = texts[static_cast<size_t>(k)];
  });
}

std::unique_ptr<Kernel> OnTexts(const KernelInfo& info, std::unique_ptr<Kernel> kernel) {
  bool texts = false;
  for (size_t i = 0; i < info.num_inputs(); ++i) {
    const ElementType type = info.input_type(i);
    texts |= info.has_input(i) && (type == ElementType::kString || type == ElementType::kUndefined);
  }
  if (!texts) return kernel;
  return std::make_unique<TextKernel>(std::move(kernel));
}

}  // namespace tessera::cpu
