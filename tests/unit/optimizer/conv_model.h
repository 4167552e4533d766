#pragma once

// Convolutions with constant weights, and what may go into these.

#include <string>
#include <vector>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {

inline ModelBuilder ConvModel(const std::string& op, bool with_bias, int64_t group = 1) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 4, 5, 5}).Output("y", ElementType::kFloat, {2, 6, -1, -1});
  const bool transposed = op == "ConvTranspose";
  if (transposed) {
    model.Floats("w", {4, 6 / group, 3, 3}, Numbers(static_cast<size_t>(4 * 6 / group * 9)));
  } else {
    model.Floats("w", {6, 4 / group, 3, 3}, Numbers(static_cast<size_t>(6 * 4 / group * 9)));
  }
  if (with_bias) model.Floats("b", {6}, Numbers(6, 0.1f));
  auto& node = with_bias ? model.Node(op, {"x", "w", "b"}, {"c"}) : model.Node(op, {"x", "w"}, {"c"});
  Int(node, "group", group);
  return model;
}

inline void AddBatchNormalization(ModelBuilder& model, const std::string& from, const std::string& to, int64_t channels) {
  const auto count = static_cast<size_t>(channels);
  model.Floats("scale", {channels}, Numbers(count, 1.5f)).Floats("shift", {channels}, Numbers(count, 0.3f));
  model.Floats("mean", {channels}, Numbers(count, 0.2f)).Floats("variance", {channels}, std::vector<float>(count, 0.7f));
  Float(model.Node("BatchNormalization", {from, "scale", "shift", "mean", "variance"}, {to}), "epsilon", 1e-3f);
}

}  // namespace tessera::testing
