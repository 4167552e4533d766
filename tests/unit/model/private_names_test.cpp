// Operators and attributes that Tessera keeps to itself, in files from elsewhere.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "attributes.h"
#include "loading.h"
#include "temporary_folder.h"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void Import(ModelBuilder& model, const char* domain) {
  auto& import = *model.proto().add_opset_import();
  import.set_domain(domain);
  import.set_version(1);
}

/// y = op(x) of floats.
ModelBuilder OneOperator(const std::string& op, const char* domain = "") {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3}).Output("y", ElementType::kFloat, {2, 3});
  model.Node(op, {"x"}, {"y"}, "hidden").set_domain(domain);
  if (*domain != 0) Import(model, domain);
  return model;
}

class PrivateDomain : public ::testing::TestWithParam<const char*> {};

TEST_P(PrivateDomain, HasNoOperatorsInModels) {
  const auto told =
      AllOf(HasSubstr("'hidden'"), HasSubstr(std::string("'") + GetParam() + "'"), HasSubstr("private to Tessera"));
  EXPECT_THAT(LoadError(OneOperator("FromNchw8c", GetParam())), told);
  ModelBuilder unimported = OneOperator("ScatterGrid", GetParam());
  unimported.proto().mutable_opset_import()->RemoveLast();
  EXPECT_THAT(LoadError(unimported), told);
}

TEST_P(PrivateDomain, HasNoFunctionsInModels) {
  ModelBuilder model = OneOperator("Twice", GetParam());
  auto& function = *model.proto().add_functions();
  function.set_name("Twice");
  function.set_domain(GetParam());
  function.add_input("a");
  function.add_output("b");
  auto& node = *function.add_node();
  node.set_op_type("Identity");
  node.add_input("a");
  node.add_output("b");
  EXPECT_THAT(LoadError(model), AllOf(HasSubstr("function Twice"), HasSubstr(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(All, PrivateDomain,
                         ::testing::Values("ai.tessera", "tessera", "tessera.fused", "ai.tessera.next"));

TEST(PrivateNames, NobodyElsesDomainIsRefused) {
  for (const char* domain : {"tesserae", "ai.tesserae", "com.tessera", "my.tessera"}) {
    EXPECT_THAT(LoadError(OneOperator("Anything", domain)), HasSubstr("no provider runs it")) << domain;
  }
}

TEST(PrivateNames, AttributesAreRefusedOnOperatorsOfAllDomains) {
  ModelBuilder model = OneOperator("Relu");
  Text(*model.proto().mutable_graph()->mutable_node(0), "tessera_activation", "Clip");
  EXPECT_THAT(LoadError(model), AllOf(HasSubstr("'hidden'"), HasSubstr("'tessera_activation'"), HasSubstr("leave it out")));
  model = OneOperator("Gelu", "com.microsoft");
  Ints(*model.proto().mutable_graph()->mutable_node(0), "tessera_columns", {0, 9});
  EXPECT_THAT(LoadError(model), HasSubstr("'tessera_columns'"));
  model = OneOperator("Relu");
  Int(*model.proto().mutable_graph()->mutable_node(0), "exporters_mark", 1);
  EXPECT_EQ(LoadError(model), "no error");
}

/// A function of domain "own" whose body is one node that the caller fills in.
onnx::NodeProto& AddFunction(ModelBuilder& model, const std::string& op) {
  auto& function = *model.proto().add_functions();
  function.set_name("Own");
  function.set_domain("own");
  function.add_input("a");
  function.add_output("b");
  auto& import = *function.add_opset_import();
  import.set_version(21);
  Import(model, "own");
  auto& node = *function.add_node();
  node.set_name("hidden");
  node.set_op_type(op);
  node.add_input("a");
  node.add_output("b");
  return node;
}

TEST(PrivateNames, BodiesOfFunctionsAreReadThoughNobodyCallsThem) {
  ModelBuilder model = OneOperator("Relu");
  AddFunction(model, "ToNchw8c").set_domain("ai.tessera");
  EXPECT_THAT(LoadError(model), AllOf(HasSubstr("'hidden'"), HasSubstr("'ai.tessera'")));
}

TEST(PrivateNames, AnAttributeThatACallGivesIsRefused) {
  ModelBuilder model = OneOperator("Own", "");
  auto& call = *model.proto().mutable_graph()->mutable_node(0);
  call.set_domain("own");
  Float(call, "limit", 2);
  auto& inner = AddFunction(model, "Relu");
  model.proto().mutable_functions(0)->add_attribute("limit");
  auto& attribute = *inner.add_attribute();
  attribute.set_name("tessera_beta");
  attribute.set_ref_attr_name("limit");
  attribute.set_type(onnx::AttributeProto::FLOAT);
  EXPECT_THAT(LoadError(model), AllOf(HasSubstr("'hidden'"), HasSubstr("'tessera_beta'")));
}

TEST(PrivateNames, NestedGraphsAreRead) {
  ModelBuilder model;
  model.Input("c", ElementType::kBool, {}).Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
  auto& branches = model.Node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *branches.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& graph = *attribute.mutable_g();
    graph.set_name(name);
    const bool other = name == std::string("else_branch");
    ModelBuilder::AddNode(graph, other ? "QuantizedLookup" : "Relu", {"x"}, {"r"}, "hidden")
        .set_domain(other ? "tessera" : "");
    graph.add_output()->set_name("r");
  }
  EXPECT_THAT(LoadError(model), AllOf(HasSubstr("'hidden'"), HasSubstr("'tessera'")));
}

/// y = quantized(Exp(x)) of bytes, which the optimizer makes a table.
ModelBuilder QuantizedTables() {
  ModelBuilder model;
  model.Input("x", ElementType::kUInt8, {2, 9}).Output("y", ElementType::kUInt8, {2, 9});
  model.Floats("scale", {}, {0.015f}).Quantized("zero", ElementType::kUInt8, {}, {128});
  model.Node("DequantizeLinear", {"x", "scale", "zero"}, {"numbers"});
  model.Node("Exp", {"numbers"}, {"powers"});
  model.Node("QuantizeLinear", {"powers", "scale", "zero"}, {"y"});
  return model;
}

std::string TextOf(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator(stream), {}};
}

TEST(PrivateNames, AModelThatIsWrittenLoads) {
  const TemporaryFolder folder;
  // Imports of what no node uses do no harm; nor do they make the domain one to write.
  ModelBuilder model = QuantizedTables();
  for (const char* domain : {"ai.tessera", "tessera"}) Import(model, domain);
  SessionOptions options = OnCpu();
  const auto operators = [&] { return model.Session(options).placement().ToText(); };
  EXPECT_THAT(operators(), HasSubstr("QuantizedLookup"));
  // The session that writes it runs tables all the same: those are made after it is written.
  options.optimized_model_path = folder.path() / "optimized.onnx";
  EXPECT_THAT(operators(), HasSubstr("QuantizedLookup"));
  EXPECT_THAT(TextOf(options.optimized_model_path), AllOf(HasSubstr("Exp"), Not(HasSubstr("QuantizedLookup"))));
  EXPECT_EQ(ErrorOf([&] { Session(options.optimized_model_path, OnCpu()); }), "no error");
}

}  // namespace
}  // namespace tessera::testing
