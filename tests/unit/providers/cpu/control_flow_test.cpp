// Loop: inputs that are left out before what the body captures, and the rows of no iteration at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model_builder.h"

namespace tessera {
namespace {

using testing::Floats;
using testing::ModelBuilder;

/// z: a row of what is captured as `v`, of size 3 by what the body declares, for each iteration; `k` tells whether more
/// follow.
ModelBuilder Rows(const std::vector<std::string>& inputs, const std::vector<int64_t>& captured) {
  ModelBuilder model(18);
  model.Input("m", ElementType::kInt64, {}).Input("k", ElementType::kBool, {}).Input("v", ElementType::kFloat, captured);
  auto* attribute = ModelBuilder::AddNode(*model.proto().mutable_graph(), "Loop", inputs, {"z"}, "loop").add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  auto& body = *attribute->mutable_g();
  body.set_name("body");
  ModelBuilder::Declare(body.add_input(), "i", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "again", ElementType::kBool, {});
  ModelBuilder::AddNode(body, "Neg", {"v"}, {"row"});
  ModelBuilder::AddNode(body, "Identity", {"k"}, {"again_out"});
  ModelBuilder::Declare(body.add_output(), "again_out", ElementType::kBool, {});
  ModelBuilder::Declare(body.add_output(), "row", ElementType::kFloat, {3});
  model.proto().mutable_graph()->add_output()->set_name("z");
  return model;
}

Shape ShapeOfRows(const ModelBuilder& model, int64_t trips, bool again) {
  const std::vector<std::string> names = {"m", "k", "v"};
  const std::vector<Value> inputs = {Tensor::Of<int64_t>({}, std::span(&trips, 1)),
                                     Tensor::Of<bool>({}, std::span(&again, 1)), Floats({3}, {1, 2, 3})};
  return model.Session().Run(names, inputs).at(0).tensor().shape();
}

TEST(ControlFlow, AnOmittedConditionIsNotWhatTheBodyCaptures) {
  EXPECT_EQ(ShapeOfRows(Rows({"m", ""}, {3}), 4, true), (Shape{4, 3}));
}

TEST(ControlFlow, AnOmittedTripCountIsNotWhatTheBodyCaptures) {
  EXPECT_EQ(ShapeOfRows(Rows({"", ""}, {3}), 0, false), (Shape{1, 3}));
}

TEST(ControlFlow, RowsOfNoIterationHaveTheSizeThatTheBodyDeclares) {
  EXPECT_EQ(ShapeOfRows(Rows({"m", ""}, {-1}), 0, true), (Shape{0, 3}));
  EXPECT_EQ(ShapeOfRows(Rows({"m", "k"}, {-1}), 5, false), (Shape{0, 3}));
}

TEST(ControlFlow, RowsOfNoIterationHaveTheRankThatTheNodeDeclares) {
  ModelBuilder model = Rows({"m", "k"}, {3});
  auto& graph = *model.proto().mutable_graph();
  auto& body = *graph.mutable_node(0)->mutable_attribute(0)->mutable_g();
  body.mutable_output(1)->clear_type();
  body.mutable_node(0)->set_op_type("Reshape");  // to a shape that nothing tells
  body.mutable_node(0)->add_input("sizes");
  model.Input("sizes", ElementType::kInt64, {-1});
  ModelBuilder::Declare(graph.mutable_output(0), "z", ElementType::kFloat, {-1, 2, 3});
  const std::vector<std::string> names = {"m", "k", "v", "sizes"};
  const std::vector<int64_t> sizes = {2, 3};
  const int64_t trips = 0;
  const bool again = true;
  const std::vector<Value> inputs = {Tensor::Of<int64_t>({}, std::span(&trips, 1)),
                                     Tensor::Of<bool>({}, std::span(&again, 1)), Floats({3}, {1, 2, 3}),
                                     Tensor::Of<int64_t>({2}, sizes)};
  EXPECT_EQ(model.Session().Run(names, inputs).at(0).tensor().shape(), (Shape{0, 2, 3}));
}

}  // namespace
}  // namespace tessera
