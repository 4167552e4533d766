// Functions that a model brings with it.

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "loading.h"
#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::LoadError;
using testing::ModelBuilder;
using testing::OnCpu;
using testing::RunOnce;

/// A function "mine" of p that gives q, without nodes as yet.
onnx::FunctionProto* DefineFunction(ModelBuilder& model, const std::string& name, const std::string& overload = "") {
  if (model.proto().opset_import_size() == 1) {
    auto* import = model.proto().add_opset_import();
    import->set_domain("mine");
    import->set_version(1);
  }
  auto* function = model.proto().add_functions();
  function->set_domain("mine");
  function->set_name(name);
  function->set_overload(overload);
  function->add_input("p");
  function->add_output("q");
  for (const auto& [domain, version] : {std::pair("", 21), {"mine", 1}}) {
    auto* import = function->add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }
  return function;
}

void AddCall(google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes, const std::string& op, const std::string& from,
             const std::string& to, const std::string& domain = "") {
  auto* node = nodes->Add();
  node->set_op_type(op);
  node->set_domain(domain);
  node->add_input(from);
  node->add_output(to);
}

TEST(ModelFunctions, CallEachOtherByNameAndOverload) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  auto* leaky = DefineFunction(model, "Leaky");
  leaky->add_attribute("slope");
  AddCall(leaky->mutable_node(), "LeakyRelu", "p", "q");
  auto* alpha = leaky->mutable_node(0)->add_attribute();
  alpha->set_name("alpha");
  alpha->set_ref_attr_name("slope");
  alpha->set_type(onnx::AttributeProto::FLOAT);
  auto* twice = DefineFunction(model, "Twice");
  AddCall(twice->mutable_node(), "Neg", "p", "x");  // names inside are of no concern outside
  AddCall(twice->mutable_node(), "Leaky", "x", "q", "mine");
  auto* slope = twice->mutable_node(1)->add_attribute();
  slope->set_name("slope");
  slope->set_type(onnx::AttributeProto::FLOAT);
  slope->set_f(0.5f);
  auto* other = DefineFunction(model, "Twice", "other");
  AddCall(other->mutable_node(), "Exp", "p", "q");
  AddCall(model.proto().mutable_graph()->mutable_node(), "Twice", "x", "y", "mine");
  EXPECT_THAT(RunOnce(model.Session(OnCpu()), {Floats({2}, {1, -2})}), ElementsAre(-0.5f, 2));
  model.proto().mutable_graph()->mutable_node(0)->set_overload("other");
  EXPECT_THAT(RunOnce(model.Session(OnCpu()), {Floats({2}, {0, 0})}), ElementsAre(1, 1));
}

TEST(ModelFunctions, MayNotCallThemselves) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  AddCall(DefineFunction(model, "A")->mutable_node(), "B", "p", "q", "mine");
  AddCall(DefineFunction(model, "B")->mutable_node(), "A", "p", "q", "mine");
  AddCall(model.proto().mutable_graph()->mutable_node(), "A", "x", "y", "mine");
  EXPECT_THAT(LoadError(model), HasSubstr("calls itself"));
}

TEST(ModelFunctions, MayNotMultiplyTheModel) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  for (int i = 0; i < 40; ++i) {  // each calls the next one twice
    auto* function = DefineFunction(model, "F" + std::to_string(i));
    const std::string next = "F" + std::to_string(i + 1);
    AddCall(function->mutable_node(), next, "p", "r", "mine");
    AddCall(function->mutable_node(), next, "r", "q", "mine");
  }
  AddCall(DefineFunction(model, "F40")->mutable_node(), "Neg", "p", "q");
  AddCall(model.proto().mutable_graph()->mutable_node(), "F0", "x", "y", "mine");
  EXPECT_THAT(LoadError(model), HasSubstr("grows to more than"));
}

}  // namespace
}  // namespace tessera
