// What a session says that its model holds.

#include <gtest/gtest.h>

#include "model_builder.h"

namespace tessera {
namespace {

using testing::ModelBuilder;

/// A branch of If that gives two floats of its own.
void AddBranch(onnx::NodeProto& node, const std::string& name) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& branch = *attribute.mutable_g();
  branch.set_name(name);
  auto* held = branch.add_initializer();
  held->set_name("held");
  held->set_data_type(onnx::TensorProto::FLOAT);
  held->add_dims(2);
  held->add_float_data(1);
  held->add_float_data(2);
  ModelBuilder::AddNode(branch, "Add", {"held", "shared"}, {"sum"});
  ModelBuilder::Declare(branch.add_output(), "sum", ElementType::kFloat, {2});
}

TEST(ModelSizes, CountNestedGraphsAndOnceWhatTheyShare) {
  ModelBuilder model;
  model.Input("c", ElementType::kBool, {}).Output("y", ElementType::kFloat, {2}).Floats("shared", {2}, {3, 4});
  onnx::NodeProto& node = model.Node("If", {"c"}, {"y"});
  AddBranch(node, "then_branch");
  AddBranch(node, "else_branch");
  for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kAll}) {
    SessionOptions options;
    options.optimization_level = level;
    const Session session = model.Session(options);
    EXPECT_EQ(session.sizes().nodes, 3u);
    EXPECT_EQ(session.sizes().weights, 3u);
    EXPECT_EQ(session.sizes().weight_values, 6);
    EXPECT_EQ(session.sizes().weight_bytes, 24);
  }
}

TEST(ModelSizes, CountDefaultsThatCallersMayOverride) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Input("bias", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Floats("bias", {2}, {1, 2}).Node("Add", {"x", "bias"}, {"y"});
  EXPECT_EQ(model.Session().sizes().weights, 1u);
  EXPECT_EQ(model.Session().sizes().weight_bytes, 8);
}

}  // namespace
}  // namespace tessera
