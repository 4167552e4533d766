#include <functional>

#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

struct ReshapeCase {
  std::string name, after;
  std::function<void(ModelBuilder&)> add;  // from x to b
  std::vector<int64_t> dims;
};

const ReshapeCase kReshapes[] = {
    {"Chain",
     "Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("s", {2, 6}).Ints("t", {3, 4});
       m.Node("Reshape", {"x", "s"}, {"a"});
       m.Node("Reshape", {"a", "t"}, {"b"});
     },
     {2, 2, 3}},
    {"ChainThatMayFail",
     "Reshape Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("s", {2, 6}).Ints("t", {3, -1});
       m.Node("Reshape", {"x", "s"}, {"a"});
       m.Node("Reshape", {"a", "t"}, {"b"});
     },
     {-1, 4}},
    {"ChainOfUnknown",
     "Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("s", {0, 2, 2}).Ints("t", {-1, 1});
       m.Node("Reshape", {"x", "s"}, {"a"});
       m.Node("Reshape", {"a", "t"}, {"b"});
     },
     {-1, 4}},
    {"UnsqueezeAndSqueeze",
     "Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {1});
       m.Node("Unsqueeze", {"x", "axes"}, {"a"});
       m.Node("Squeeze", {"a", "axes"}, {"b"});
     },
     {-1, 4}},
    {"SqueezeAndUnsqueeze",
     "Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {1});
       m.Node("Squeeze", {"x", "axes"}, {"a"});
       m.Node("Unsqueeze", {"a", "axes"}, {"b"});
     },
     {-1, 1, 4}},
    {"SqueezeThatMayFail",
     "Squeeze Unsqueeze Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {1});
       m.Node("Squeeze", {"x", "axes"}, {"a"});
       m.Node("Unsqueeze", {"a", "axes"}, {"b"});
     },
     {2, -1, 4}},
    {"UnsqueezeAndFlatten",
     "Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {3});
       m.Node("Unsqueeze", {"x", "axes"}, {"a"});
       m.Node("Flatten", {"a"}, {"b"});
     },
     {-1, 2, 4}},
};

class FuseReshapes : public ::testing::TestWithParam<ReshapeCase> {};

TEST_P(FuseReshapes, KeepsResults) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, GetParam().dims);
  auto* output = model.proto().mutable_graph()->add_output();
  output->set_name("y");
  output->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  GetParam().add(model);
  model.Node("Neg", {"b"}, {"y"});
  const Rewriting rewriting(model, {"fuse_reshapes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), GetParam().after);
  EXPECT_EQ(rewriting.Difference(1, GetParam().name == "SqueezeThatMayFail" ? 1 : 3), "");
}

INSTANTIATE_TEST_SUITE_P(Chains, FuseReshapes, ::testing::ValuesIn(kReshapes),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::testing
