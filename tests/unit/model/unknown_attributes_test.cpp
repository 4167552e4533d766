#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"
#include "temporary_folder.h"
#include "tessera/log.h"
#include "waves.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ModelBuilder;
using ::testing::SizeIs;

/// A softmax over the axis that the attribute called `name` says.
ModelBuilder SoftmaxModel(const std::string& name, int opset = 21) {
  ModelBuilder model(opset);
  model.Input("x", ElementType::kFloat, {2, 3}).Output("y", ElementType::kFloat, {2, 3});
  testing::Int(model.Node("Softmax", {"x"}, {"y"}, "scores"), name, 0);
  return model;
}

TEST(UnknownAttributesTest, KnownOnesSayNothing) { EXPECT_THAT(SoftmaxModel("axis").Session().warnings(), IsEmpty()); }

TEST(UnknownAttributesTest, AMisspeltOneIsToldInTheLogAndTheReport) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, std::string_view, std::string_view message) {
    if (level == LogLevel::kWarning) lines.emplace_back(message);
  });
  const Session session = SoftmaxModel("axes").Session();
  SetLogSink({});
  const std::string sentence =
      "Softmax 'scores': Softmax of version 13 has no attribute 'axes', it is ignored; did you mean 'axis'?";
  EXPECT_THAT(session.warnings(), ElementsAre(sentence));
  EXPECT_THAT(lines, Contains(sentence));
}

/// Not even by the operators that rewrites make of the node, which have attributes that ONNX's has not.
TEST(UnknownAttributesTest, AreIgnored) {
  const auto convolutions = [](const std::function<void(onnx::NodeProto&)>& more) {
    ModelBuilder model(17);
    model.Input("x", ElementType::kFloat, {1, 8, 20, 20}).Output("y", ElementType::kFloat, {1, 8, 20, 20});
    model.Floats("w", {8, 8, 3, 3}, testing::Waves(576, 0.7f, 0.2f));
    for (const auto& [from, to] : {std::pair("x", "a"), std::pair("a", "y")}) {
      auto& node = model.Node("Conv", {from, "w"}, {to}, to);
      testing::Ints(node, "pads", {1, 1, 1, 1});
      more(node);
    }
    const std::vector<std::string> names = {"x"};
    const std::vector<Value> images = {Tensor::Of<float>({1, 8, 20, 20}, testing::Waves(3200, 0.3f, 1))};
    const std::vector<Value> results = model.Session().Run(names, images);
    const Tensor& y = results[0].tensor();
    return std::vector<float>(y.data<float>(), y.data<float>() + y.num_elements());
  };
  const std::vector<float> plain = convolutions([](auto&) {});
  for (const char* number : {"plain_input", "from_nchw", "channels", "has_residual", "alpha", "__mark"})
    EXPECT_EQ(convolutions([&](auto& node) { testing::Int(node, number, 1); }), plain) << number;
  for (const char* activation : {"Sigmoid", "PRelu", "nothing"})
    EXPECT_EQ(convolutions([&](auto& node) { testing::Text(node, "activation", activation); }), plain) << activation;
}

TEST(UnknownAttributesTest, OneOfALaterVersionIsToldAsSuch) {
  ModelBuilder model(12);
  model.Input("x", ElementType::kFloat, {4, 2}).Output("y", ElementType::kFloat, {4, 2});
  testing::Int(model.Node("Identity", {"x"}, {"copy"}), "colour", 3);
  testing::Int(model.Node("DepthToSpace", {"image"}, {"space"}, "late"), "blocksize", 1);
  model.Input("image", ElementType::kFloat, {1, 4, 1, 1});
  testing::Int(model.Node("Reshape", {"copy", "shape"}, {"y"}, "again"), "allowzero", 1);
  model.Ints("shape", {4, 2});
  EXPECT_THAT(
      model.Session().warnings(),
      ElementsAre(
          "Identity 'copy': Identity of version 1 has no attribute 'colour', it is ignored",
          "Reshape 'again': Reshape of version 5 has no attribute 'allowzero', it is ignored; later versions have it: "
          "import a newer opset"));
}

TEST(UnknownAttributesTest, NestedGraphsAndFunctionsAreLookedAt) {
  ModelBuilder model;
  model.Input("which", ElementType::kBool, {}).Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_domain("mine");
  function.set_name("Soft");
  function.add_input("in");
  function.add_output("out");
  function.add_attribute("sharpness");
  function.add_attribute_proto()->set_name("softness");
  function.add_opset_import()->set_version(21);
  onnx::NodeProto& body = *function.add_node();
  body.set_op_type("Softmax");
  body.set_name("inner");
  body.add_input("in");
  body.add_output("out");
  testing::Int(body, "axsi", 0);
  auto* import = model.proto().add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  onnx::NodeProto& call = model.Node("Soft", {"x"}, {"soft"}, "call");
  call.set_domain("mine");
  testing::Int(call, "sharpness", 1);
  testing::Int(call, "softnes", 1);
  onnx::NodeProto& branches = model.Node("If", {"which"}, {"y"});
  for (const std::string name : {"then_branch", "else_branch"}) {
    auto& attribute = *branches.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& graph = *attribute.mutable_g();
    graph.set_name(name);
    testing::Int(ModelBuilder::AddNode(graph, "Softmax", {"soft"}, {name + "_y"}, name), "asix", 0);
    ModelBuilder::Declare(graph.add_output(), name + "_y", ElementType::kFloat, {2});
  }
  const std::vector<std::string> warnings = model.Session().warnings();
  EXPECT_THAT(warnings, SizeIs(4));
  EXPECT_THAT(warnings, Contains("Soft 'call': function Soft has no attribute 'softnes', it is ignored; did you mean "
                                 "'softness'?"));
  EXPECT_THAT(warnings, Contains(AllOf(HasSubstr("function Soft: Softmax 'inner'"), HasSubstr("'axsi'"))));
  EXPECT_THAT(warnings, Contains(AllOf(HasSubstr("'then_branch'"), HasSubstr("'asix'"))));
}

/// A function of one node from "in" to "out".
onnx::NodeProto& AddFunction(ModelBuilder& model, const std::string& name, const std::string& op) {
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_domain("mine");
  function.set_name(name);
  function.add_input("in");
  function.add_output("out");
  onnx::NodeProto& body = *function.add_node();
  body.set_op_type(op);
  body.add_input("in");
  body.add_output("out");
  return body;
}

TEST(UnknownAttributesTest, AFunctionWithoutImportsHasTheModels) {
  ModelBuilder model(18);
  auto* import = model.proto().add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  model.Input("x", ElementType::kFloat, {1, 4, 1, 1}).Output("y", ElementType::kFloat, {1, 4, 1, 1});
  AddFunction(model, "Older", "Neg");
  model.proto().mutable_functions(0)->add_opset_import()->set_version(12);
  testing::Int(AddFunction(model, "Newer", "ReduceSumSquare"), "noop_with_empty_axes", 1);  // since 18
  model.Node("Older", {"x"}, {"a"}).set_domain("mine");
  model.Node("Newer", {"a"}, {"y"}).set_domain("mine");
  EXPECT_THAT(model.Session().warnings(), IsEmpty());
}

TEST(UnknownAttributesTest, ManyAreCounted) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y99", ElementType::kFloat, {2});
  std::string from = "x";
  for (int i = 0; i < 100; ++i) {
    const std::string to = "y" + std::to_string(i);
    testing::Int(model.Node("Neg", {from}, {to}), "mark", i);
    from = to;
  }
  SessionOptions options;
  options.log_level = LogLevel::kError;
  const std::vector<std::string> warnings = model.Session(options).warnings();
  EXPECT_THAT(warnings, SizeIs(65));
  EXPECT_EQ(warnings.back(), "36 more attributes are unknown");
}

TEST(ShadowedFunctions, AreTold) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Relu", {"x"}, {"y"});
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_name("Relu");
  function.add_input("in");
  function.add_output("out");
  function.add_opset_import()->set_version(21);
  onnx::NodeProto& body = *function.add_node();
  body.set_op_type("Neg");
  body.add_input("in");
  body.add_output("out");
  EXPECT_THAT(
      model.Session().warnings(),
      ElementsAre("function Relu: ai.onnx has an operator of this name, whose kernels are used where there are any"));
}

TEST(UnknownAttributesTest, StrictSessionsRefuseThem) {
  SessionOptions options;
  options.config["session.strict_attributes"] = "1";
  EXPECT_THAT(ErrorOf([&] { SoftmaxModel("axes").Session(options); }),
              AllOf(HasSubstr("no attribute 'axes'"), HasSubstr("session.strict_attributes")));
  EXPECT_EQ(ErrorOf([&] { SoftmaxModel("axis").Session(options); }), "no error");
}

TEST(UnknownAttributesTest, ASessionFromAContextTellsThemToo) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path model = folder.Write("model.onnx", SoftmaxModel("axes").bytes());
  SessionOptions options;
  options.log_level = LogLevel::kError;
  options.config["session.context_enable"] = "1";
  const std::vector<std::string> first = Session(model, options).warnings();
  const Session second(model, options);
  EXPECT_TRUE(second.context().used) << second.context().detail;
  EXPECT_THAT(first, SizeIs(1));
  EXPECT_EQ(second.warnings(), first);
}

}  // namespace
}  // namespace tessera
