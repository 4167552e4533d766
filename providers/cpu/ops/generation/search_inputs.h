#pragma once

// Scalars and masks that searches take as inputs.

#include <optional>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "cpu/ops/generation/token_rules.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// A search's inputs in one run. What its graphs capture follows the node's own inputs, and is none of them.
class SearchInputs {
 public:
  SearchInputs(const KernelContext& context, size_t count) : context_(context), count_(count) {}

  /// Input `i`, or null when it is left out.
  const Tensor* operator[](size_t i) const { return i < count_ ? context_.input(i) : nullptr; }

  const Tensor& first() const { return context_.required_input(0); }
  int64_t batch() const { return first().shape()[0]; }
  /// Of the run.
  Allocator& memory() const { return context_.allocator(); }

  /// The one element of input `i`; nothing when it is left out.
  template <class T>
  std::optional<T> Scalar(size_t i, const char* name) const {
    const Tensor* tensor = (*this)[i];
    if (tensor == nullptr) return std::nullopt;
    Require(tensor->num_elements() == 1 && tensor->shape().rank() <= 1, "{} is {}; a scalar is expected", name,
            tensor->shape());
    if constexpr (std::is_same_v<T, float>) {
      if (tensor->is(ElementType::kFloat16)) return static_cast<float>(*tensor->data<Float16>());
    }
    return *tensor->data<T>();
  }

  /// Input `i` of int32 and this shape; empty when it is left out.
  std::span<const int32_t> Mask(size_t i, const char* name, const Shape& shape) const {
    const Tensor* tensor = (*this)[i];
    if (tensor == nullptr) return {};
    Require(tensor->shape() == shape, "{} is {}; {} is expected", name, tensor->shape(), shape);
    return tensor->values<int32_t>();
  }

  /// Input 1: the length that sequences reach at most, of which `given` tokens are there. ONNX Runtime's searches go no
  /// further than 4096.
  int64_t MaxLength(int64_t given) const {
    constexpr int32_t kLongest = 4096;
    const int64_t length = Scalar<int32_t>(1, "max_length").value_or(kLongest);
    Require(length > given && length <= kLongest,
            "max_length is {}; more than the {} tokens that are given, and at most {}, are expected", length, given,
            kLongest);
    return length;
  }

  /// What input 2 and those from `penalty` on say: repetition_penalty, vocab_mask, prefix_vocab_mask and attention_mask.
  TokenRules Rules(size_t penalty, int64_t vocabulary, int64_t end) const {
    TokenRules rules;
    rules.min_length = Scalar<int32_t>(2, "min_length").value_or(0);
    rules.repetition_penalty = Scalar<float>(penalty, "repetition_penalty").value_or(1.0f);
    Require(rules.repetition_penalty > 0, "repetition_penalty is {}; a positive number is expected",
            rules.repetition_penalty);
    rules.vocabulary_mask = Mask(penalty + 1, "vocab_mask", {vocabulary});
    rules.prefix_mask = Mask(penalty + 2, "prefix_vocab_mask", {batch(), vocabulary});
    Mask(penalty + 3, "attention_mask", first().shape());
    rules.end = end;
    return rules;
  }

 private:
  const KernelContext& context_;
  size_t count_;
};

}  // namespace tessera::cpu
