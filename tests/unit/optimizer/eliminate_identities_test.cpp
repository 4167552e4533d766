#include <functional>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// Relu -> the node -> Neg, whose output is y; the node reads "a" and writes "b".
struct IdentityCase {
  std::string name;
  std::string after;  // operators
  std::function<void(ModelBuilder&)> add;
  std::vector<int64_t> dims = {2, 3};
  ElementType type = ElementType::kFloat;
  int opset = 21;
};

ModelBuilder Build(const IdentityCase& test) {
  ModelBuilder model(test.opset);
  model.Input("x", test.type, test.dims);
  auto* output = model.proto().mutable_graph()->add_output();
  output->set_name("y");
  output->mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(test.type));
  model.Node("Abs", {"x"}, {"a"});
  test.add(model);
  model.Node("Neg", {"b"}, {"y"});
  return model;
}

constexpr auto kGone = "Abs Neg";

/// Where of this condition, of "a" where it is true and else of a constant of these dimensions.
std::function<void(ModelBuilder&)> WhereOf(std::vector<uint8_t> condition, std::vector<int64_t> other,
                                           bool other_first = false) {
  return [=](ModelBuilder& m) {
    m.Constant("c", {static_cast<int64_t>(condition.size())}, condition, onnx::TensorProto::BOOL);
    m.Floats("o", other, Numbers(static_cast<size_t>(Shape(other).num_elements())));
    m.Node("Where", {"c", other_first ? "o" : "a", other_first ? "a" : "o"}, {"b"});
  };
}

const IdentityCase kCases[] = {
    {"WhereTrue", kGone, WhereOf({1, 1, 1}, {2, 3})},
    {"WhereFalse", kGone, WhereOf({0}, {3}, true)},
    {"WhereMixed", "Abs Where Neg", WhereOf({1, 0, 1}, {2, 3})},
    {"WhereTakesWhatBroadcasts", "Abs Where Neg", WhereOf({0, 0, 0}, {3})},
    {"WhereBroadcasts", "Abs Where Neg", WhereOf({1}, {4, 2, 3})},
    {"WhereOfOpenSize", "Abs Where Neg", WhereOf({1}, {1, 3}), {-1, 3}},
    {"Identity", kGone, [](ModelBuilder& m) { m.Node("Identity", {"a"}, {"b"}); }},
    {"Dropout", kGone, [](ModelBuilder& m) { m.Node("Dropout", {"a"}, {"b", "mask"}); }},
    {"OldDropout", kGone, [](ModelBuilder& m) { m.Node("Dropout", {"a"}, {"b"}); }, {2, 3}, ElementType::kFloat, 8},
    {"CastToSame", kGone, [](ModelBuilder& m) { Int(m.Node("Cast", {"a"}, {"b"}), "to", 1); }},
    {"ReshapeToSame", kGone, [](ModelBuilder& m) { m.Ints("s", {2, 3}).Node("Reshape", {"a", "s"}, {"b"}); }},
    {"ReshapeCopies", kGone, [](ModelBuilder& m) { m.Ints("s", {0, 0}).Node("Reshape", {"a", "s"}, {"b"}); }, {-1, -1}},
    {"ReshapeInfers", kGone, [](ModelBuilder& m) { m.Ints("s", {-1, 3}).Node("Reshape", {"a", "s"}, {"b"}); }, {-1, 3}},
    {"ReshapeMayFail",
     "Abs Reshape Neg",
     [](ModelBuilder& m) { m.Ints("s", {3, -1}).Node("Reshape", {"a", "s"}, {"b"}); },
     {-1, -1}},
    {"ReshapeInfersBesideUnknown",
     kGone,
     [](ModelBuilder& m) { m.Ints("s", {0, -1}).Node("Reshape", {"a", "s"}, {"b"}); },
     {-1, 3}},
    {"ReshapeToOther", "Abs Reshape Neg", [](ModelBuilder& m) { m.Ints("s", {3, 2}).Node("Reshape", {"a", "s"}, {"b"}); }},
    {"Flatten", kGone, [](ModelBuilder& m) { m.Node("Flatten", {"a"}, {"b"}); }},
    {"FlattenOfThree", "Abs Flatten Neg", [](ModelBuilder& m) { m.Node("Flatten", {"a"}, {"b"}); }, {2, 1, 3}},
    {"Transpose", kGone, [](ModelBuilder& m) { Ints(m.Node("Transpose", {"a"}, {"b"}), "perm", {0, 1}); }, {-1, 4}},
    {"TransposeOfOne", kGone, [](ModelBuilder& m) { m.Node("Transpose", {"a"}, {"b"}); }, {5}},
    {"TransposeOfTwo", "Abs Transpose Neg", [](ModelBuilder& m) { m.Node("Transpose", {"a"}, {"b"}); }},
    {"SliceAll",
     kGone,
     [](ModelBuilder& m) {
       m.Ints("from", {0, 0})
           .Ints("to", {std::numeric_limits<int64_t>::max(), 3})
           .Node("Slice", {"a", "from", "to"}, {"b"});
     },
     {-1, 3}},
    {"SliceSome",
     "Abs Slice Neg",
     [](ModelBuilder& m) { m.Ints("from", {0}).Ints("to", {2}).Node("Slice", {"a", "from", "to"}, {"b"}); },
     {-1, 3}},
    {"SliceFromOne",
     "Abs Slice Neg",
     [](ModelBuilder& m) { m.Ints("from", {1}).Ints("to", {3}).Node("Slice", {"a", "from", "to"}, {"b"}); },
     {3}},
    {"ExpandToSame", kGone, [](ModelBuilder& m) { m.Ints("s", {1, 3}).Node("Expand", {"a", "s"}, {"b"}); }},
    {"ExpandUnknown",
     "Abs Expand Neg",
     [](ModelBuilder& m) { m.Ints("s", {3, 3}).Node("Expand", {"a", "s"}, {"b"}); },
     {-1, 3}},
    {"TileOnce", kGone, [](ModelBuilder& m) { m.Ints("n", {1, 1}).Node("Tile", {"a", "n"}, {"b"}); }},
    {"TileTwice", "Abs Tile Neg", [](ModelBuilder& m) { m.Ints("n", {1, 2}).Node("Tile", {"a", "n"}, {"b"}); }},
    {"ClipWithoutBounds", kGone, [](ModelBuilder& m) { m.Node("Clip", {"a"}, {"b"}); }},
    {"SumOfOne", kGone, [](ModelBuilder& m) { m.Node("Sum", {"a"}, {"b"}); }},
    {"MaxOfTwo", "Abs Max Neg", [](ModelBuilder& m) { m.Node("Max", {"a", "x"}, {"b"}); }},
    {"TimesOne", kGone, [](ModelBuilder& m) { m.Floats("one", {}, {1}).Node("Mul", {"one", "a"}, {"b"}); }},
    {"TimesOnes", kGone, [](ModelBuilder& m) { m.Floats("one", {2, 1}, {1, 1}).Node("Mul", {"a", "one"}, {"b"}); }},
    {"TimesOnesThatBroadcast", "Abs Mul Neg",
     [](ModelBuilder& m) { m.Floats("one", {2, 2, 1}, {1, 1, 1, 1}).Node("Mul", {"a", "one"}, {"b"}); }},
    {"TimesOnesOfUnknown",
     "Abs Mul Neg",
     [](ModelBuilder& m) { m.Floats("one", {3}, {1, 1, 1}).Node("Mul", {"a", "one"}, {"b"}); },
     {2, -1}},
    {"MinusZero", kGone, [](ModelBuilder& m) { m.Floats("zero", {1}, {0}).Node("Sub", {"a", "zero"}, {"b"}); }},
    {"ZeroMinus", "Abs Sub Neg", [](ModelBuilder& m) { m.Floats("zero", {1}, {0}).Node("Sub", {"zero", "a"}, {"b"}); }},
    {"OneDividedBy", "Abs Div Neg", [](ModelBuilder& m) { m.Floats("one", {1}, {1}).Node("Div", {"one", "a"}, {"b"}); }},
    {"PlusZeroChangesMinusZero", "Abs Add Neg",
     [](ModelBuilder& m) { m.Floats("zero", {1}, {0}).Node("Add", {"a", "zero"}, {"b"}); }},
    {"PlusMinusZero", kGone, [](ModelBuilder& m) { m.Floats("zero", {1}, {-0.0f}).Node("Add", {"a", "zero"}, {"b"}); }},
    {"IntegersPlusZero",
     kGone,
     [](ModelBuilder& m) { m.Ints("zero", {0}).Node("Add", {"zero", "a"}, {"b"}); },
     {2, 3},
     ElementType::kInt64},
};

class EliminateIdentities : public ::testing::TestWithParam<IdentityCase> {};

TEST_P(EliminateIdentities, KeepsResults) {
  const ModelBuilder model = Build(GetParam());
  const Rewriting rewriting(model, {"eliminate_identities"});
  EXPECT_EQ(rewriting.after(), GetParam().after);
  EXPECT_EQ(rewriting.Difference(), "");
}

INSTANTIATE_TEST_SUITE_P(Nodes, EliminateIdentities, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(EliminateIdentities, OutputsKeepTheirNames) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2}).Output("z", ElementType::kFloat, {2});
  model.Output("x2", ElementType::kFloat, {2});
  model.Node("Relu", {"x"}, {"a"});
  model.Node("Identity", {"a"}, {"y"});
  model.Node("Identity", {"y"}, {"z"});
  model.Node("Identity", {"x"}, {"x2"});
  const Rewriting rewriting(model, {"eliminate_identities"});
  EXPECT_EQ(rewriting.after(), "Relu Identity Identity");  // y is computed by Relu; z and x2 need a name of their own
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(EliminateIdentities, ConstantsBecomeOutputs) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2}).Output("z", ElementType::kFloat, {2});
  model.Floats("c", {2}, {1, 2});
  model.Node("Identity", {"c"}, {"y"});
  model.Node("Add", {"x", "c"}, {"z"});
  const Rewriting rewriting(model, {"eliminate_identities"});
  EXPECT_EQ(rewriting.after(), "Add");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(EliminateIdentities, LooksIntoNestedGraphs) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Input("c", ElementType::kBool, {}).Output("y", ElementType::kFloat, {2});
  model.Node("Identity", {"x"}, {"a"});
  onnx::GraphProto yes, no;
  ModelBuilder::AddNode(yes, "Identity", {"a"}, {"i"});
  ModelBuilder::AddNode(yes, "Neg", {"i"}, {"r"});
  ModelBuilder::Declare(yes.add_output(), "r", ElementType::kFloat, {2});
  ModelBuilder::AddNode(no, "Relu", {"x"}, {"s"});
  ModelBuilder::Declare(no.add_output(), "s", ElementType::kFloat, {2});
  auto& branch = model.Node("If", {"c"}, {"y"});
  for (auto [name, graph] : {std::pair("then_branch", &yes), {"else_branch", &no}}) {
    auto* attribute = branch.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = *graph;
  }
  const Rewriting rewriting(model, {"eliminate_identities"});
  EXPECT_EQ(rewriting.before(), "Identity If(Identity Neg)(Relu)");
  EXPECT_EQ(rewriting.after(), "If(Neg)(Relu)");
  for (int seed = 0; seed < 4; ++seed) EXPECT_EQ(rewriting.Difference(seed), "");
}

}  // namespace
}  // namespace tessera::testing
