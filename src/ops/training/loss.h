#pragma once

// What the providers' losses of class scores [N, C, d1, ...] against labels [N, d1, ...] check.

#include <string>

#include "base/check.h"
#include "tessera/shape.h"

namespace tessera {

enum class LossReduction { kNone, kMean, kSum };

inline LossReduction ParseLossReduction(const std::string& name) {
  if (name == "none") return LossReduction::kNone;
  if (name == "sum") return LossReduction::kSum;
  Require(name == "mean", "reduction is '{}', expected none, mean or sum", name);
  return LossReduction::kMean;
}

/// The shape of the labels, which those given must have.
inline Shape CheckLabels(const Shape& scores, const Shape& labels) {
  Require(scores.rank() >= 2, "scores are {}; [N, C, ...] is expected", scores);
  Shape rest{scores[0]};
  for (size_t i = 2; i < scores.rank(); ++i) rest.Append(scores[i]);
  Require(labels == rest, "labels are {}; {} is expected for scores {}", labels, rest, scores);
  return rest;
}

}  // namespace tessera
