#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

onnx::GraphProto Branch(const std::string& op, const std::string& from) {
  onnx::GraphProto graph;
  ModelBuilder::AddNode(graph, op, {from}, {"a"});
  ModelBuilder::AddNode(graph, "Add", {"a", "k"}, {"r"});
  auto* constant = graph.add_initializer();
  constant->set_name("k");
  constant->set_data_type(onnx::TensorProto::FLOAT);
  constant->add_float_data(3);
  ModelBuilder::Declare(graph.add_output(), "r", ElementType::kFloat, {2});
  return graph;
}

void SetBranches(onnx::NodeProto& node, const onnx::GraphProto& yes, const onnx::GraphProto& no) {
  for (auto [name, graph] : {std::pair("then_branch", &yes), {"else_branch", &no}}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = *graph;
  }
}

TEST(InlineBranches, TheOneThatIsTaken) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2}).Input("c", ElementType::kBool, {});
  auto* condition = model.proto().mutable_graph()->add_initializer();
  condition->set_name("yes");
  condition->set_data_type(onnx::TensorProto::BOOL);
  condition->add_int32_data(1);
  model.Node("Relu", {"x"}, {"a"});  // the same name as in the branch
  onnx::GraphProto outer = Branch("Neg", "a");
  outer.mutable_node(0)->set_input(0, "x");
  outer.mutable_node(0)->set_output(0, "inside");
  outer.mutable_node(1)->set_input(0, "inside");
  outer.mutable_node(1)->set_output(0, "sum");
  // A branch in the branch reads what both of them and the model compute.
  onnx::GraphProto deepest, other;
  ModelBuilder::AddNode(deepest, "Add", {"sum", "a"}, {"q"});
  ModelBuilder::Declare(deepest.add_output(), "q", ElementType::kFloat, {2});
  ModelBuilder::AddNode(other, "Mul", {"inside", "a"}, {"q"});
  ModelBuilder::Declare(other.add_output(), "q", ElementType::kFloat, {2});
  SetBranches(ModelBuilder::AddNode(outer, "If", {"c"}, {"r"}), deepest, other);
  SetBranches(model.Node("If", {"yes"}, {"y"}), outer, Branch("Exp", "x"));
  const Rewriting rewriting(model, {"inline_branches"});
  EXPECT_EQ(rewriting.before(), "Relu If(Neg Add If(Add)(Mul))(Exp Add)");
  EXPECT_EQ(rewriting.after(), "Relu Neg Add If(Add)(Mul)");
  for (int seed = 0; seed < 4; ++seed) EXPECT_EQ(rewriting.Difference(seed), "");
}

TEST(InlineBranches, ResultsThatAreOnlyPassedOn) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  auto* condition = model.proto().mutable_graph()->add_initializer();
  condition->set_name("no");
  condition->set_data_type(onnx::TensorProto::BOOL);
  condition->add_int32_data(0);
  model.Node("Neg", {"x"}, {"n"});
  onnx::GraphProto pass;
  ModelBuilder::AddNode(pass, "Identity", {"n"}, {"i"});
  ModelBuilder::Declare(pass.add_output(), "i", ElementType::kFloat, {2});
  SetBranches(model.Node("If", {"no"}, {"y"}), Branch("Exp", "x"), pass);
  const Rewriting rewriting(model, {});
  EXPECT_EQ(rewriting.after(), "Neg");
  EXPECT_EQ(rewriting.Difference(), "");
}

}  // namespace
}  // namespace tessera::testing
