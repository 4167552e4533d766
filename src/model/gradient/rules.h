#pragma once

// Derivatives of operators: from the gradients of a node's outputs to those of its inputs.

#include <string_view>

#include "base/check.h"
#include "model/gradient/builder.h"

namespace tessera::gradient {

/// One node while its gradients are made.
class Step {
 public:
  Step(Builder& builder, const Node& node, std::span<const Term> output_gradients, const std::vector<bool>& wanted)
      : build(builder), node_(node), output_gradients_(output_gradients), wanted_(wanted), gradients_(node.inputs.size()) {}

  Builder& build;
  const Node& node() const noexcept { return node_; }
  int version() const noexcept { return node_.since_version; }

  size_t num_x() const noexcept { return node_.inputs.size(); }
  size_t num_y() const noexcept { return node_.outputs.size(); }
  bool has_x(size_t i) const noexcept { return i < num_x() && node_.inputs[i] != kNone; }
  bool has_y(size_t i) const noexcept { return i < num_y() && node_.outputs[i] != kNone; }
  Term x(size_t i = 0) { return has_x(i) ? build.Of(node_.inputs[i]) : Term(); }
  Term y(size_t i = 0) { return has_y(i) ? build.Of(node_.outputs[i]) : Term(); }
  /// The gradient of output `i`; nothing when no path leads from it to the result.
  Term dy(size_t i = 0) const { return i < output_gradients_.size() ? output_gradients_[i] : Term(); }

  /// True when the gradient of input `i` is asked for: give it.
  bool wants(size_t i) const noexcept { return i < wanted_.size() && wanted_[i]; }
  void Give(size_t i, Term gradient) {
    if (wants(i)) gradients_[i] = gradient;
  }
  /// The same for a gradient in the shape of output 0, to which input `i` was broadcast.
  void GiveSummed(size_t i, Term gradient) {
    if (wants(i)) gradients_[i] = build.SumTo(gradient, y(), x(i));
  }
  const std::vector<Term>& gradients() const noexcept { return gradients_; }

  /// Its rank, which the graph must tell.
  size_t rank(Term x) const {
    const SymbolicShape* dims = build.DimsOf(x);
    Expect(dims != nullptr, "of a tensor of unknown rank");
    return dims->size();
  }
  /// An axis counted from the front.
  int64_t axis(int64_t given, size_t rank) const {
    const auto r = static_cast<int64_t>(rank);
    Expect(given >= -r && given < r, "with an axis outside of its input");
    return given < 0 ? given + r : given;
  }
  /// Ends the differentiation unless `condition` holds: no derivative is known for the operator ...
  void Expect(bool condition, std::string_view otherwise) const {
    if (!condition) Fail(ErrorCode::kNotImplemented, "no derivative is known for {} {}", node_.Label(), otherwise);
  }

 private:
  const Node& node_;
  std::span<const Term> output_gradients_;
  const std::vector<bool>& wanted_;
  std::vector<Term> gradients_;
};

using Rule = void (*)(Step& step);

/// The rule of an operator of ai.onnx; null when there is none.
Rule FindRule(const Node& node) noexcept;

// The rules that take more than a line, by family.
void MatMulRule(Step& step);
void GemmRule(Step& step);
void EinsumRule(Step& step);
void ConvRule(Step& step);
void ConvTransposeRule(Step& step);
void MaxPoolRule(Step& step);
void AveragePoolRule(Step& step);
void GlobalAveragePoolRule(Step& step);
void GlobalMaxPoolRule(Step& step);
void BatchNormalizationRule(Step& step);
void InstanceNormalizationRule(Step& step);
void LpNormalizationRule(Step& step);
void LrnRule(Step& step);
void SoftmaxRule(Step& step);
void LogSoftmaxRule(Step& step);
void DropoutRule(Step& step);

void ReduceSumRule(Step& step);
void ReduceMeanRule(Step& step);
void ReduceExtremeRule(Step& step);
void ReduceProdRule(Step& step);
void ReduceL1Rule(Step& step);
void ReduceL2Rule(Step& step);
void ReduceSumSquareRule(Step& step);
void ReduceLogSumRule(Step& step);
void ReduceLogSumExpRule(Step& step);
void CumSumRule(Step& step);
void TopKRule(Step& step);

void ReshapeRule(Step& step);
void TransposeRule(Step& step);
void ConcatRule(Step& step);
void SplitRule(Step& step);
void ExpandRule(Step& step);
void GatherRule(Step& step);
void SelectionRule(Step& step);
void ScatterElementsRule(Step& step);
void ScatterNDRule(Step& step);
void PadRule(Step& step);
void TriluRule(Step& step);
void DepthToSpaceRule(Step& step);
void SpaceToDepthRule(Step& step);

}  // namespace tessera::gradient
