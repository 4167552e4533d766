#pragma once

// NegativeLogLikelihoodLoss (12, 13, 22), SoftmaxCrossEntropyLoss (12, 13): losses of class scores [N, C, d1, ...] against
// labels [N, d1, ...].

#include <optional>
#include <string>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"
#include "tessera/value.h"

namespace tessera {

enum class LossReduction : uint8_t { kNone, kMean, kSum };

struct LossAttributes {
  explicit LossAttributes(const Node& node)
      : softmax(node.op_type == "SoftmaxCrossEntropyLoss"), reduction(ParseReduction(node)) {
    if (const auto* given = FindTyped<int64_t>(node, "ignore_index")) ignore_index = *given;
  }

  /// The shape of the labels, which those given must have; throws Error where they, or weights, which may be null, do not
  /// fit.
  static Shape CheckLabels(const Tensor& scores, const Shape& labels, const Tensor* weights) {
    const Shape& shape = scores.shape();
    Require(shape.rank() >= 2, "scores are {}; [N, C, ...] is expected", shape);
    Shape rest{shape[0]};
    for (size_t i = 2; i < shape.rank(); ++i) rest.Append(shape[i]);
    Require(labels == rest, "labels are {}; {} is expected for scores {}", labels, rest, shape);
    Require(weights == nullptr || (weights->shape() == Shape{shape[1]} && weights->is(scores.type())),
            "weights are {}; [{}] is expected", OptionalShape{weights}, shape[1]);
    return rest;
  }

  /// Whether a label counts. Throws Error where it is no class.
  bool Counts(int64_t label, int64_t classes) const {
    if (label == ignore_index) return false;
    Require(label >= 0 && label < classes, "label {} is outside [0, {})", label, classes);
    return true;
  }

  bool softmax;  // scores become logarithms of probabilities first
  LossReduction reduction;
  std::optional<int64_t> ignore_index;  // the label of what does not count

 private:
  static LossReduction ParseReduction(const Node& node) {
    const auto name = AttributeOr<std::string>(node, "reduction", "mean");
    if (name == "none") return LossReduction::kNone;
    if (name == "sum") return LossReduction::kSum;
    Require(name == "mean", "reduction is '{}', expected none, mean or sum", name);
    return LossReduction::kMean;
  }
};

}  // namespace tessera
