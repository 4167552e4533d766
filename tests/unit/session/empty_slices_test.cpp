// Tensors without elements whose shapes still count a million million slices: nothing is to be done for any of them.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"

namespace tessera {
namespace {

using namespace testing;

constexpr int64_t kMany = int64_t{1} << 40;

Value Empty(const Shape& shape, ElementType type = ElementType::kFloat) { return Tensor(type, shape); }

/// What `make` adds computes y of x, with [kMany, 0] elements.
void ExpectEmpty(const std::function<void(ModelBuilder&)>& make, ElementType type = ElementType::kFloat) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1}).AnyOutput("y", type);
  make(model);
  const std::vector<std::string> names = {"x"};
  const std::vector<Value> inputs = {Empty({kMany, 0})};
  const std::vector<Value> results = model.Session().Run(names, inputs);
  EXPECT_EQ(results[0].tensor().num_elements(), 0);
}

TEST(EmptySlices, OfSequences) {
  ExpectEmpty([](ModelBuilder& model) {
    model.Node("SequenceConstruct", {"x", "x"}, {"s"});
    Int(model.Node("ConcatFromSequence", {"s"}, {"y"}), "axis", 1);
  });
  ExpectEmpty([](ModelBuilder& model) {
    model.Ints("split", {0}).Ints("first", {});
    const std::vector<int64_t> zero = {0};
    model.Constant("position", {}, std::span<const int64_t>(zero));
    Int(model.Node("SplitToSequence", {"x", "split"}, {"s"}), "axis", 1);
    model.Node("SequenceAt", {"s", "position"}, {"y"});
  });
}

TEST(EmptySlices, OfFeatures) {
  ExpectEmpty([](ModelBuilder& model) {
    auto* import = model.proto().add_opset_import();
    import->set_domain("ai.onnx.ml");
    import->set_version(1);
    model.Node("FeatureVectorizer", {"x", "x"}, {"y"}).set_domain("ai.onnx.ml");
  });
}

TEST(EmptySlices, OfScannedOutputs) {
  ExpectEmpty([](ModelBuilder& model) {
    const std::vector<float> rows(3);
    model.Floats("rows", {3}, rows);
    auto& scan = Ints(Int(model.Node("Scan", {"x", "rows"}, {"last", "y"}), "num_scan_inputs", 1), "scan_output_axes", {1});
    auto* attribute = scan.add_attribute();
    attribute->set_name("body");
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto& body = *attribute->mutable_g();
    body.set_name("body");
    ModelBuilder::Declare(body.add_input(), "state", ElementType::kFloat, {-1, -1});
    ModelBuilder::Declare(body.add_input(), "row", ElementType::kFloat, {});
    ModelBuilder::AddNode(body, "Identity", {"state"}, {"next"});
    ModelBuilder::AddNode(body, "Neg", {"state"}, {"out"});
    ModelBuilder::Declare(body.add_output(), "next", ElementType::kFloat, {-1, -1});
    ModelBuilder::Declare(body.add_output(), "out", ElementType::kFloat, {-1, -1});
  });
}

// Indices without a number in them are of no place: neither is one to be looked at.
TEST(EmptySlices, OfIndices) {
  ModelBuilder model;
  model.Input("data", ElementType::kFloat, {-1}).Input("indices", ElementType::kInt64, {-1, -1});
  model.Input("updates", ElementType::kFloat, {-1, -1});
  model.AnyOutput("scattered", ElementType::kFloat).AnyOutput("gathered", ElementType::kFloat);
  model.Node("ScatterND", {"data", "indices", "updates"}, {"scattered"});
  model.Node("GatherND", {"data", "indices"}, {"gathered"});
  const std::vector<Value> inputs = {Empty({0}), Empty({kMany, 0}, ElementType::kInt64), Empty({kMany, 0})};
  const std::vector<std::string> names = {"data", "indices", "updates"};
  const std::vector<Value> results = model.Session().Run(names, inputs);
  EXPECT_EQ(results[0].tensor().shape(), Shape({0}));
  EXPECT_EQ(results[1].tensor().shape(), Shape({kMany, 0}));
}

}  // namespace
}  // namespace tessera
