#include "attributes.h"
#include "error_of.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// What PyTorch makes of x[:, first::step, ..., from:] = updates, of x [batch, 5, 2, 7] and updates [batch, rows, 2,
/// columns]: vectors of each axis, their common shape, all combinations.
struct Assignment {
  std::vector<int64_t> rows = {1, 3};
  std::vector<int64_t> columns = {4, 5, 6};
  std::string reduction = "none";
  std::string common = "abcd";  // whose sum has the shape to expand to; e is no vector
};

ModelBuilder Assigned(const Assignment& of, ElementType element = ElementType::kFloat) {
  ModelBuilder model(18);
  const auto rows = static_cast<int64_t>(of.rows.size()), columns = static_cast<int64_t>(of.columns.size());
  model.Input("x", element, {-1, 5, 2, 7})
      .Input("u", element, {-1, rows * 2 * columns})
      .Output("y", element, {-1, 5, 2, 7});
  for (const char* input : {"x", "u"}) model.NameDim(input, 0, "batch");
  model.Ints("zero", {0})
      .Ints("one", {1})
      .Ints("last", {-1})
      .Ints("along_a", {-1, 1, 1, 1})
      .Ints("tail", {rows, 2, columns});
  Int(Int(model.Node("Shape", {"x"}, {"batch"}), "start", 0), "end", 1);
  model.Node("Squeeze", {"batch"}, {"count"});
  model.Node("Squeeze", {"zero"}, {"from"});
  model.Node("Squeeze", {"one"}, {"by"});
  model.Node("Range", {"from", "count", "by"}, {"batches"});
  model.Node("Reshape", {"batches", "along_a"}, {"a"});
  model.Ints("r", of.rows).Ints("along_b", {-1, 1, 1});
  model.Node("Reshape", {"r", "along_b"}, {"b"});
  model.Ints("m", {0, 1}).Ints("along_c", {-1, 1});
  model.Node("Reshape", {"m", "along_c"}, {"c"});
  model.Ints("d", of.columns).Ints("e", {0});
  std::string sum(1, of.common[0]);
  for (size_t i = 1; i < of.common.size(); ++i) {
    const std::string next = "sum" + std::to_string(i);
    model.Node("Add", {sum, std::string(1, of.common[i])}, {next});
    sum = next;
  }
  model.Node("Shape", {sum}, {"common"});
  for (const std::string vector : {"a", "b", "c", "d"}) {
    model.Node("Expand", {vector, "common"}, {vector + "_all"});
    model.Node("Unsqueeze", {vector + "_all", "last"}, {vector + "_one"});
  }
  Int(model.Node("Concat", {"a_one", "b_one", "c_one", "d_one"}, {"tuples"}), "axis", -1);
  Int(model.Node("Concat", {"batch", "tail"}, {"shape"}), "axis", 0);
  model.Node("Reshape", {"u", "shape"}, {"updates"});
  Text(model.Node("ScatterND", {"x", "tuples", "updates"}, {"y"}), "reduction", of.reduction);
  return model;
}

TEST(ScatterGridPass, TakeAVectorOfEachAxis) {
  const std::vector<Assignment> assignments = {
      {},
      {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 5, 6}},
      {{2}, {6}},
      {{-2, -1}, {0, 2, 4, 6}},
      {{4, 0, 3}, {6, 5, 1}},
      {{1, 2}, {3, -3, 0}},
  };
  for (const Assignment& assignment : assignments) {
    for (const ElementType element : {ElementType::kFloat, ElementType::kInt8, ElementType::kInt64}) {
      const Rewriting rewriting(Assigned(assignment, element), {});
      EXPECT_THAT(rewriting.after(), ::testing::EndsWith("ScatterGrid"));
      EXPECT_THAT(rewriting.after(), ::testing::Not(::testing::HasSubstr("Expand")));
      EXPECT_EQ(rewriting.Difference(), "");
      EXPECT_EQ(rewriting.Difference(2, 1), "");
    }
  }
}

TEST(ScatterGridPass, LeaveSumsAndOtherShapes) {
  for (const Assignment& assignment : {Assignment{.reduction = "add"}, Assignment{.common = "abcde"}}) {
    const Rewriting rewriting(Assigned(assignment), {"recognize_scatter_grid"});
    EXPECT_EQ(rewriting.before(), rewriting.after());
  }
}

ModelBuilder AtConstants(const std::vector<int64_t>& dims, const std::vector<int64_t>& tuples,
                         const std::vector<int64_t>& updates) {
  ModelBuilder model(16);
  model.Input("x", ElementType::kFloat, {4, 5, 3})
      .Input("u", ElementType::kFloat, updates)
      .Output("y", ElementType::kFloat, {4, 5, 3});
  model.Ints("flat", tuples).Ints("dims", dims);
  model.Node("Reshape", {"flat", "dims"}, {"tuples"});
  model.Node("ScatterND", {"x", "tuples", "u"}, {"y"});
  return model;
}

TEST(ScatterGridPass, LookIntoConstants) {
  const Rewriting grid(AtConstants({2, 2, 2}, {1, 0, 1, 3, 2, 0, 2, 3}, {2, 2, 3}),
                       {"fold_constants", "recognize_scatter_grid"});
  EXPECT_EQ(grid.after(), "ScatterGrid");
  EXPECT_EQ(grid.Difference(), "");
  const Rewriting other(AtConstants({2, 2, 2}, {1, 0, 1, 3, 2, 0, 2, 4}, {2, 2, 3}),
                        {"fold_constants", "recognize_scatter_grid"});
  EXPECT_EQ(other.after(), "ScatterND");
}

TEST(ScatterGridPass, TellWhichIndexIsOutside) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  const Session session = Assigned({{1, 5}, {0, 1}}).Session(options);
  EXPECT_EQ(session.placement().nodes.back().op_type, "ScatterGrid");
  std::vector<Value> outputs(1);
  EXPECT_THAT(ErrorOf([&] { session.Run(MakeInputs(session, 1, 2), outputs); }),
              ::testing::HasSubstr("index 5 is outside [-5, 4]"));
}

}  // namespace
}  // namespace tessera::testing
