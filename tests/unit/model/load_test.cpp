// Which models load, and what is wrong with those that do not.

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "error_of.h"
#include "loading.h"
#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::LoadError;
using testing::ModelBuilder;
using testing::OnCpu;
using testing::RunOnce;
using testing::ToVector;

namespace fs = std::filesystem;

/// y = x + w, w = {1, 2}.
ModelBuilder Sum(bool w_is_input = false) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  if (w_is_input) model.Input("w", ElementType::kFloat, {2});
  model.Floats("w", {2}, {1, 2});
  model.Node("Add", {"x", "w"}, {"y"}, "sum");
  return model;
}

TEST(Load, EveryIrVersion) {
  for (int64_t version = 3; version <= 14; ++version) {
    ModelBuilder model = Sum(/*w_is_input=*/true);
    model.proto().set_ir_version(version);
    const Session session = model.Session(OnCpu());
    EXPECT_THAT(RunOnce(session, {Floats({2}, {10, 20})}), ElementsAre(11, 22)) << version;
    // Initializers that are inputs too can be overridden since version 4.
    EXPECT_EQ(session.overridable_initializers().size(), version < 4 ? 0u : 1u) << version;
    if (version < 4) continue;
    model = Sum();
    model.proto().set_ir_version(version);
    EXPECT_TRUE(model.Session(OnCpu()).overridable_initializers().empty());
  }
  ModelBuilder model = Sum();
  model.proto().set_ir_version(15);
  EXPECT_THAT(LoadError(model), HasSubstr("IR version 15 is not supported"));
  model.proto().set_ir_version(-1);
  EXPECT_THAT(LoadError(model), HasSubstr("IR version -1 is not supported"));
}

/// v' = v + 1, three times; the body gives v' as its state and to be collected.
TEST(Load, NestedGraphsMayGiveAValueTwice) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1})
      .Output("y", ElementType::kFloat, {1})
      .Output("all", ElementType::kFloat, {3, 1});
  model.Ints("count", {3}).Floats("one", {1}, {1});
  auto* attribute = model.Node("Loop", {"count", "", "x"}, {"y", "all"}).add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  auto& body = *attribute->mutable_g();
  body.set_name("body");
  ModelBuilder::Declare(body.add_input(), "i", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "more", ElementType::kBool, {});
  ModelBuilder::Declare(body.add_input(), "v", ElementType::kFloat, {1});
  ModelBuilder::AddNode(body, "Identity", {"more"}, {"still"});
  ModelBuilder::AddNode(body, "Add", {"v", "one"}, {"w"});
  ModelBuilder::Declare(body.add_output(), "still", ElementType::kBool, {});
  for (int i = 0; i < 2; ++i) ModelBuilder::Declare(body.add_output(), "w", ElementType::kFloat, {1});
  for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kAll}) {
    SessionOptions options = OnCpu();
    options.optimization_level = level;
    std::vector<Value> results(2);
    model.Session(options).Run(std::vector<Value>{Floats({1}, {10})}, results);
    EXPECT_THAT(ToVector(results[0]), ElementsAre(13));
    EXPECT_THAT(ToVector(results[1]), ElementsAre(11, 12, 13));
  }
}

TEST(Load, FreeDimensionsThatTheModelDoesNotHave) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1}).Output("y", ElementType::kFloat, {-1, -1});
  model.Node("Neg", {"x"}, {"y"});
  model.NameDim("x", 0, "sequence").NameDim("x", 1, "batch");
  SessionOptions options = OnCpu();
  options.free_dimensions = {{"batch", 2}, {"sequenz", 3}};
  EXPECT_THAT(ErrorOf([&] { model.Session(options); }),
              HasSubstr("the model has no free dimension 'sequenz' (its dimensions: batch, sequence)"));
  options.free_dimensions = {{"batch", 2}, {"sequence", 3}};
  EXPECT_EQ((*model.Session(options).inputs()[0].type.shape)[1].value, 2);
}

/// onnx's own inference of these equations does not come to an end.
TEST(Load, EinsumEquationsWithOtherThanLetters) {
  const auto einsum = [](const std::string& equation) {
    ModelBuilder model;
    model.Input("a", ElementType::kFloat, {1, 2})
        .Input("b", ElementType::kFloat, {2, 1})
        .Output("y", ElementType::kFloat, {1, 1});
    auto* attribute = model.Node("Einsum", {"a", "b"}, {"y"}).add_attribute();
    attribute->set_name("equation");
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(equation);
    return model;
  };
  const std::vector<Value> inputs = {Floats({1, 2}, {2, 3}), Floats({2, 1}, {5, 7})};
  std::vector<Value> results(1);
  einsum(" i j , j k -> i k ").Session(OnCpu()).Run(inputs, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(31));
  for (const std::string equation : {"i!,jk->ik", "i.j,jk->ik", "......,jk", "ij,jk\xff->ik"}) {
    EXPECT_THAT(ErrorOf([&] { einsum(equation).Session(OnCpu()).Run(inputs, results); }), HasSubstr("Einsum")) << equation;
  }
}

TEST(Load, HugeDimensions) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{int64_t{1} << 62, 4}, {int64_t{1} << 40}, {-3}, {1 << 20, 1 << 20, 1 << 20, 1 << 20}}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {});
    auto* tensor = model.proto().mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_raw_data("abcd");
    model.Node("Add", {"x", "w"}, {"y"});
    EXPECT_THAT(LoadError(model), HasSubstr("w")) << dims[0];
  }
  // What is only declared takes no memory.
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {int64_t{1} << 62, 4}).Output("y", ElementType::kFloat, {int64_t{1} << 62, 4});
  model.Node("Neg", {"x"}, {"y"});
  const Session session = model.Session(OnCpu());
  std::vector<Value> results(1);
  EXPECT_THAT(ErrorOf([&] { session.Run(std::vector<Value>{Floats({1}, {1})}, results); }), HasSubstr("x"));
}

struct BrokenCase {
  std::string name, error;
  std::function<void(ModelBuilder&)> break_it;
};

const BrokenCase kBroken[] = {
    {"Cycle", "cycle through Add 'a'",
     [](ModelBuilder& m) {
       m.Node("Add", {"x", "q"}, {"p"}, "a");
       m.Node("Neg", {"p"}, {"q"}, "b");
     }},
    {"SelfCycle", "cycle", [](ModelBuilder& m) { m.Node("Add", {"x", "p"}, {"p"}); }},
    {"ValueTwice", "value 'p' is defined twice",
     [](ModelBuilder& m) {
       m.Node("Neg", {"x"}, {"p"});
       m.Node("Exp", {"x"}, {"p"});
     }},
    {"OutputTwice", "defined twice", [](ModelBuilder& m) { m.Node("Split", {"x"}, {"p", "p"}); }},
    {"InputComputed", "value 'x' is defined twice", [](ModelBuilder& m) { m.Node("Neg", {"w"}, {"x"}); }},
    {"InitializerComputed", "value 'w' is defined twice", [](ModelBuilder& m) { m.Node("Neg", {"x"}, {"w"}); }},
    {"InitializerTwice", "initializer 'w' is defined twice", [](ModelBuilder& m) { m.Floats("w", {1}, {1}); }},
    {"InputTwice", "value 'x' is defined twice", [](ModelBuilder& m) { m.Input("x", ElementType::kFloat, {2}); }},
    {"NoSuchValue", "input 'nowhere' is not defined", [](ModelBuilder& m) { m.Node("Neg", {"nowhere"}, {"p"}); }},
    {"NoSuchOutput", "output 'nowhere' of graph 'test' is never computed",
     [](ModelBuilder& m) { m.Output("nowhere", ElementType::kFloat, {}); }},
    {"NoSuchOperator", "has no operator 'Nonsense'", [](ModelBuilder& m) { m.Node("Nonsense", {"x"}, {"p"}); }},
    {"TooManyInputs", "it has 3 inputs", [](ModelBuilder& m) { m.Node("Neg", {"x", "x", "x"}, {"p"}); }},
    {"WrongTypes", "is tensor(int64)",
     [](ModelBuilder& m) {
       m.Ints("i", {1});
       m.Node("Add", {"x", "i"}, {"p"});
     }},
    {"AttributeOfAnotherField", "attribute 'axis' is declared INT and holds STRING",
     [](ModelBuilder& m) {
       auto* axis = m.Node("Softmax", {"x"}, {"p"}).add_attribute();
       axis->set_name("axis");
       axis->set_type(onnx::AttributeProto::INT);
       axis->set_s("1");
     }},
    {"ListOfAnotherField", "attribute 'axes' is declared INTS and holds INT",
     [](ModelBuilder& m) {
       auto* axes = m.Node("ReduceSumSquare", {"x"}, {"p"}).add_attribute();
       axes->set_name("axes");
       axes->set_type(onnx::AttributeProto::INTS);
       axes->set_i(1);
     }},
    {"TensorTwice", "tensor 'twice' is given twice, as raw_data and as a list",
     [](ModelBuilder& m) {
       m.Floats("twice", {1}, {1});
       m.proto().mutable_graph()->mutable_initializer()->rbegin()->set_raw_data("abcd");
       m.proto().mutable_graph()->mutable_initializer()->rbegin()->add_float_data(1);
     }},
    {"AttributeTwice", "attribute 'axis' is given twice",
     [](ModelBuilder& m) {
       auto& node = m.Node("Softmax", {"x"}, {"p"});
       for (int i = 0; i < 2; ++i) {
         auto* axis = node.add_attribute();
         axis->set_name("axis");
         axis->set_type(onnx::AttributeProto::INT);
       }
     }},
    {"NoImports", "imports no operator set", [](ModelBuilder& m) { m.proto().clear_opset_import(); }},
    {"ImportsTwice", "domain 'ai.onnx' is imported twice, as version 21 and 17",
     [](ModelBuilder& m) {
       auto* import = m.proto().add_opset_import();
       import->set_domain("ai.onnx");
       import->set_version(17);
     }},
    {"GraphOutputTwice", "output 'y' of graph 'test' is listed twice",
     [](ModelBuilder& m) { m.Output("y", ElementType::kFloat, {2}); }},
    {"DefaultOfOtherShape", "initializer 'w' has shape [2]; the input of that name is declared as [3]",
     [](ModelBuilder& m) { m.Input("w", ElementType::kFloat, {3}); }},
    {"DefaultOfOtherRank", "initializer 'w' has shape [2]; the input of that name is declared as [",
     [](ModelBuilder& m) { m.Input("w", ElementType::kFloat, {2, -1}); }},
    {"FutureOpset", "is not supported", [](ModelBuilder& m) { m.proto().mutable_opset_import(0)->set_version(1000); }},
};

class BrokenModel : public ::testing::TestWithParam<BrokenCase> {};

TEST_P(BrokenModel, SaysWhatIsWrong) {
  ModelBuilder model = Sum();
  GetParam().break_it(model);
  EXPECT_THAT(LoadError(model), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(Models, BrokenModel, ::testing::ValuesIn(kBroken),
                         [](const auto& info) { return info.param.name; });

TEST(Load, DamagedBytes) {
  const std::string bytes = Sum().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto part = std::as_bytes(std::span(bytes)).first(size);
    EXPECT_NE(ErrorOf([&] { Session(part, OnCpu()); }), "no error") << size;
  }
  EXPECT_THAT(ErrorOf([] { Session(std::as_bytes(std::span("no model at all", 15)), OnCpu()); }),
              HasSubstr("not a valid protobuf"));
  EXPECT_THAT(ErrorOf([] { Session(fs::path("/nowhere/model.onnx"), OnCpu()); }), HasSubstr("/nowhere/model.onnx"));
  EXPECT_THAT(ErrorOf([] { Session(fs::path("/"), OnCpu()); }), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace tessera
