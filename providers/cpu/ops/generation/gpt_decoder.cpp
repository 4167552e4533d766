// Decoders of GPT-2's form: (input_ids, position_ids, attention_mask, past_0, ...) -> (logits, present_0, ...), keys and
// values of a layer in one tensor [2, rows, heads, length, width].

#include <algorithm>

#include "base/check.h"
#include "cpu/ops/generation/decoder.h"

namespace tessera::cpu {
namespace {

constexpr size_t kFirstPast = 3;
constexpr size_t kFirstPresent = 1;

/// A graph of this form, checked.
class GptGraph {
 public:
  GptGraph(const KernelInfo& info, std::string_view attribute) : graph_(info, attribute) {
    Require(!graph_.has_input("past_sequence_length"),
            "the {} keeps past and present in one buffer, which is not supported", attribute);
    graph_.RequireInput(0, "input_ids", ElementType::kInt32);
    graph_.RequireInput(1, "position_ids", ElementType::kInt32);
    graph_.RequireInput(2, "attention_mask", ElementType::kInt32);
    graph_.RequireInput(kFirstPast, "past_0");
    graph_.RequireOutput(0, "logits");
    graph_.RequireOutput(kFirstPresent, "present_0");
    Require(graph_.num_inputs() - kFirstPast == graph_.num_outputs() - kFirstPresent, "the {} has {} pasts and {} presents",
            attribute, graph_.num_inputs() - kFirstPast, graph_.num_outputs() - kFirstPresent);
    const ElementType type = graph_.output_type(0).element;
    Require(type == ElementType::kFloat || type == ElementType::kFloat16, "logits are {}; float or float16 is expected",
            ElementTypeName(type));
    for (size_t i = kFirstPast; i < graph_.num_inputs(); ++i) {
      const ElementType past = graph_.input_type(i).element,
                        present = graph_.output_type(i - kFirstPast + kFirstPresent).element;
      Require(past == type && present == type, "past and present {} are {} and {}, logits {}", i - kFirstPast,
              ElementTypeName(past), ElementTypeName(present), ElementTypeName(type));
    }
    heads_ = NestedGraph::DeclaredSize(graph_.input_type(kFirstPast), 5, 2, "past_0");
    width_ = NestedGraph::DeclaredSize(graph_.input_type(kFirstPast), 5, 4, "past_0");
    vocabulary_ = NestedGraph::DeclaredSize(graph_.output_type(0), 3, 2, "logits");
  }

  int64_t vocabulary() const { return vocabulary_; }
  size_t layers() const { return graph_.num_inputs() - kFirstPast; }
  Tensor EmptyPast(int64_t rows) const {
    return Tensor(graph_.input_type(kFirstPast).element, {2, rows, heads_, 0, width_});
  }
  std::vector<Value> Run(KernelContext& context, std::span<const Value> inputs) const {
    return graph_.Run(context, inputs);
  }

 private:
  NestedGraph graph_;
  int64_t heads_, width_, vocabulary_;
};

class GptDecoding final : public Decoding {
 public:
  GptDecoding(const GptGraph& first, const GptGraph& next, const Tensor& ids, const Tensor* mask, int64_t beams,
              int64_t pad, Allocator& memory)
      : graph_(&first), next_(next), memory_(memory), rows_(ids.shape()[0] * beams) {
    Tensor positions(ElementType::kInt32, ids.shape(), memory), seen(ElementType::kInt32, ids.shape(), memory);
    const int64_t length = ids.shape()[1];
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      if (i % length == 0) positions_.push_back(0);
      const bool padding = ids.data<int32_t>()[i] == pad;
      positions.mutable_data<int32_t>()[i] = padding ? 0 : positions_.back();
      seen.mutable_data<int32_t>()[i] = mask != nullptr ? mask->data<int32_t>()[i] : padding ? 0 : 1;
      if (!padding) ++positions_.back();
    }
    std::vector<int32_t> expanded;
    expanded.reserve(static_cast<size_t>(rows_));
    for (int64_t i = 0; i < rows_; ++i) expanded.push_back(positions_[static_cast<size_t>(i / beams)]);
    positions_ = std::move(expanded);
    inputs_ = {RepeatRows(ids, beams, memory), RepeatRows(positions, beams, memory), RepeatRows(seen, beams, memory)};
    for (size_t i = 0; i < first.layers(); ++i) inputs_.emplace_back(first.EmptyPast(rows_));
  }

  const Tensor& Next(KernelContext& context) override {
    outputs_ = graph_->Run(context, inputs_);
    graph_ = &next_;
    return outputs_[0].tensor();
  }

  void Advance(const Sequences&, std::span<const int32_t> tokens, std::span<const int32_t> sources) override {
    inputs_[0] = Tensor::Of<int32_t>({rows_, 1}, tokens);
    inputs_[1] = Tensor::Of<int32_t>({rows_, 1}, std::span<const int32_t>(positions_));
    for (int32_t& position : positions_) ++position;
    inputs_[2] = Widened(inputs_[2].tensor());
    for (size_t i = kFirstPast; i < inputs_.size(); ++i) {
      Value& present = outputs_[i - kFirstPast + kFirstPresent];
      const Shape& shape = present.tensor().shape();
      Require(shape.rank() == 5 && shape[0] == 2 && shape[1] == rows_,
              "present {} is {}; [2,{},heads,length,width] is expected", i - kFirstPast, shape, rows_);
      inputs_[i] = sources.empty() ? std::move(present) : Value(TakeRows(present.tensor(), 1, sources, memory_));
    }
    outputs_.clear();
  }

 private:
  /// With a column of ones for the tokens that came last. Beams of an image have the same mask.
  static Tensor Widened(const Tensor& mask) {
    const int64_t rows = mask.shape()[0], length = mask.shape()[1];
    Tensor wide(ElementType::kInt32, {rows, length + 1});
    auto* to = wide.mutable_data<int32_t>();
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(mask.data<int32_t>() + i * length, length, to + i * (length + 1));
      to[i * (length + 1) + length] = 1;
    }
    return wide;
  }

  const GptGraph* graph_;  // of the next run
  const GptGraph& next_;
  Allocator& memory_;  // of the run
  int64_t rows_;
  std::vector<int32_t> positions_;  // of the rows' next tokens
  std::vector<Value> inputs_, outputs_;
};

class GptDecoder final : public Decoder {
 public:
  explicit GptDecoder(const KernelInfo& info) : next_(info, "decoder"), pad_(TokenAttribute(info, "pad_token_id")) {
    if (!info.has_attribute("init_decoder")) return;
    first_ = std::make_unique<GptGraph>(info, "init_decoder");
    Require(first_->layers() == next_.layers(), "init_decoder has {} layers, decoder {}", first_->layers(), next_.layers());
  }

  int64_t vocabulary() const override { return next_.vocabulary(); }
  int64_t pad() const override { return pad_; }

  Tensor Begin(const SearchInputs& inputs) const override { return PromptOf(inputs); }

  std::unique_ptr<Decoding> Start(const SearchInputs& inputs, size_t mask, int64_t beams) const override {
    return std::make_unique<GptDecoding>(first_ ? *first_ : next_, next_, PromptOf(inputs), inputs[mask], beams, pad_,
                                         inputs.memory());
  }

 private:
  GptGraph next_;
  std::unique_ptr<GptGraph> first_;
  int64_t pad_;
};

}  // namespace

std::unique_ptr<Decoder> MakeGptDecoder(const KernelInfo& info) { return std::make_unique<GptDecoder>(info); }

}  // namespace tessera::cpu
