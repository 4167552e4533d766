#pragma once

// A run that only a deadline or a flag ends.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "model_builder.h"

namespace tessera::testing {

/// y is x, negated by node "negate" of node "loop" for as long as nothing ends the run; two floats.
inline ModelBuilder EndlessLoop() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  const std::vector<int64_t> trips = {std::numeric_limits<int64_t>::max()};
  model.Constant("trips", {}, std::span<const int64_t>(trips));
  auto* attribute = model.Node("Loop", {"trips", "", "x"}, {"y"}, "loop").add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  auto& body = *attribute->mutable_g();
  body.set_name("body");
  ModelBuilder::Declare(body.add_input(), "i", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "again", ElementType::kBool, {});
  ModelBuilder::Declare(body.add_input(), "v", ElementType::kFloat, {2});
  ModelBuilder::AddNode(body, "Neg", {"v"}, {"w"}, "negate");
  ModelBuilder::AddNode(body, "Identity", {"again"}, {"again_out"});
  ModelBuilder::Declare(body.add_output(), "again_out", ElementType::kBool, {});
  ModelBuilder::Declare(body.add_output(), "w", ElementType::kFloat, {2});
  return model;
}

}  // namespace tessera::testing
