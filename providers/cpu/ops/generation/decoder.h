#pragma once

// The decoders that searches run as nested graphs, as ONNX Runtime defines them: of GPT-2's form, and of T5's and
// Whisper's with an encoder before.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cpu/ops/generation/search_inputs.h"
#include "cpu/ops/generation/sequences.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// A nested graph and what it declares.
class NestedGraph {
 public:
  NestedGraph(const KernelInfo& info, std::string_view attribute);

  size_t num_inputs() const { return runner_->num_inputs(); }
  size_t num_outputs() const { return runner_->num_outputs(); }
  bool has_input(std::string_view name) const;
  const TypeInfo& input_type(size_t i) const { return runner_->input_type(i); }
  const TypeInfo& output_type(size_t i) const { return runner_->output_type(i); }

  /// Throws Error unless input (output) `i` has this name and, where it is given, element type.
  void RequireInput(size_t i, std::string_view name, ElementType type = ElementType::kUndefined) const;
  void RequireOutput(size_t i, std::string_view name, ElementType type = ElementType::kUndefined) const;
  /// Dimension `axis` of an input or output, which has to declare it.
  static int64_t DeclaredSize(const TypeInfo& type, size_t rank, size_t axis, const char* what);

  /// Outputs have the element types that are declared.
  std::vector<Value> Run(KernelContext& context, std::span<const Value> inputs) const;

 private:
  std::string attribute_;
  SubgraphRunner* runner_;
  std::vector<std::string> inputs_, outputs_;
};

/// What one search keeps of its decoder between tokens. Rows are sequences: the batch's, or each of its beams.
class Decoding {
 public:
  virtual ~Decoding() = default;
  /// Runs up to the next tokens: their scores, [rows or batch, length, vocabulary], of which the last along the length
  /// count.
  virtual const Tensor& Next(KernelContext& context) = 0;
  /// Sequences have grown by `tokens`; row i continues row sources[i], or itself where there are none.
  virtual void Advance(const Sequences& sequences, std::span<const int32_t> tokens, std::span<const int32_t> sources) = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  /// As the logits declare.
  virtual int64_t vocabulary() const = 0;
  virtual int64_t pad() const = 0;
  /// What sequences begin with, [batch, length]. Throws Error where input 0 is not what the decoder takes.
  virtual Tensor Begin(const SearchInputs& inputs) const = 0;
  /// `mask`: the input of attention's mask, shaped as input 0. `beams`: rows of each image in the batch.
  virtual std::unique_ptr<Decoding> Start(const SearchInputs& inputs, size_t mask, int64_t beams) const = 0;
};

/// An attribute that is a token, or none (-1).
int64_t TokenAttribute(const KernelInfo& info, std::string_view name);
/// How many tokens have scores: vocab_size, or as many as the logits declare.
int64_t VocabularyOf(const KernelInfo& info, const Decoder& decoder);

std::unique_ptr<Decoder> MakeGptDecoder(const KernelInfo& info);
std::unique_ptr<Decoder> MakeT5Decoder(const KernelInfo& info);
std::unique_ptr<Decoder> MakeWhisperDecoder(const KernelInfo& info);

/// Input 0 where it has to be tokens, [batch, length].
const Tensor& PromptOf(const SearchInputs& inputs);

/// Rows `rows` of the tensor along an axis, in new memory of the run.
Tensor TakeRows(const Tensor& source, size_t axis, std::span<const int32_t> rows, Allocator& memory);
/// Each row of the batch `beams` times.
Tensor RepeatRows(const Tensor& source, int64_t beams, Allocator& memory);

/// The last tokens' logits as floats, [rows, vocabulary].
void LastLogits(const Tensor& logits, int64_t rows, int64_t vocabulary, std::span<float> scores);

}  // namespace tessera::cpu
