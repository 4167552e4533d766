#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "attributes.h"
#include "optimizer/quantized_model.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// Quantized values "x", of [2, 6, 8, 8] or `dims`, whose numbers are "d"; the scales are of all indices of an axis, or
/// one.
class SunkModel : public ModelBuilder {
 public:
  explicit SunkModel(ElementType type = ElementType::kUInt8, const Dims& dims = {2, 6, 8, 8}, int opset = 21)
      : ModelBuilder(opset), type_(type), dims_(dims) {
    Input("x", type, dims);
  }

  void Dequantize(const std::string& from, const std::string& to, float scale = 0.02f, int zero = 3) {
    Floats(to + "_scale", {}, {scale}).Quantized(to + "_zero", type_, {}, {zero});
    Node("DequantizeLinear", {from, to + "_scale", to + "_zero"}, {to});
  }

  /// As many scales as the axis has indices.
  void DequantizeAlong(int64_t axis) {
    const int64_t count = dims_[static_cast<size_t>(axis < 0 ? axis + 4 : axis)];
    std::vector<float> scales;
    std::vector<int> zeros;
    for (int64_t i = 0; i < count; ++i) {
      scales.push_back(0.01f * static_cast<float>(i + 1));
      zeros.push_back(static_cast<int>(i));
    }
    Floats("scale", {count}, scales).Quantized("zero", type_, {count}, zeros);
    Int(Node("DequantizeLinear", {"x", "scale", "zero"}, {"d"}), "axis", axis);
  }

  /// Neg of a value as an output.
  void Negate(const std::string& from) {
    Node("Neg", {from}, {from + "n"});
    AnyOutput(from + "n", ElementType::kFloat);
  }

  /// The operators that are left, which give the same numbers.
  std::string After() const {
    const Rewriting rewriting(*this, {"sink_dequantize", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.Difference({Value(QuantizedFrom(type_, Shape(dims_)))}), "");
    return rewriting.after();
  }

 private:
  ElementType type_;
  Dims dims_;
};

struct SunkCase {
  std::string name;
  std::function<void(SunkModel&)> add;  // from d to m
  std::string mover = name;
};

class SinkDequantize : public ::testing::TestWithParam<SunkCase> {};

TEST_P(SinkDequantize, BehindWhatMovesElements) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    SunkModel model(type);
    model.Dequantize("x", "d");
    GetParam().add(model);
    model.Negate("m");
    EXPECT_EQ(model.After(), GetParam().mover + " DequantizeLinear Neg");
  }
}

/// Nearest pixels of twice the size, or what `mode` and `coordinates` say.
onnx::NodeProto& Doubled(ModelBuilder& model, const std::string& mode, const std::string& coordinates = "asymmetric") {
  model.Floats("sizes", {4}, {1, 1, 2, 2});
  onnx::NodeProto& resize = model.Node("Resize", {"d", "", "sizes"}, {"m"});
  return Text(Text(resize, "mode", mode), "coordinate_transformation_mode", coordinates);
}

onnx::NodeProto& Pooled(ModelBuilder& model) { return Ints(model.Node("MaxPool", {"d"}, {"m"}), "kernel_shape", {2, 2}); }

INSTANTIATE_TEST_SUITE_P(
    Movers, SinkDequantize,
    ::testing::Values(
        SunkCase{"Transpose", [](SunkModel& m) { Transpose(m, "d", "m", {0, 2, 3, 1}); }},
        SunkCase{"Reshape", [](SunkModel& m) { m.Ints("to", {2, -1, 16}).Node("Reshape", {"d", "to"}, {"m"}); }},
        SunkCase{"Flatten", [](SunkModel& m) { m.Node("Flatten", {"d"}, {"m"}); }},
        SunkCase{"Unsqueeze", [](SunkModel& m) { m.Ints("axes", {1}).Node("Unsqueeze", {"d", "axes"}, {"m"}); }},
        SunkCase{"Slice",
                 [](SunkModel& m) {
                   m.Ints("from", {1}).Ints("to", {-1}).Ints("axes", {2}).Node("Slice", {"d", "from", "to", "axes"}, {"m"});
                 }},
        SunkCase{"Gather",
                 [](SunkModel& m) { Int(m.Ints("rows", {4, 0}).Node("Gather", {"d", "rows"}, {"m"}), "axis", 2); }},
        SunkCase{"GatherElements",
                 [](SunkModel& m) {
                   m.Constant("rows", {1, 1, 2, 2}, std::vector<int64_t>{1, 0, 0, 1});
                   m.Node("GatherElements", {"d", "rows"}, {"m"});
                 }},
        SunkCase{"GatherND",
                 [](SunkModel& m) {
                   m.Constant("at", {2, 2}, std::vector<int64_t>{1, 5, 0, 2}).Node("GatherND", {"d", "at"}, {"m"});
                 }},
        SunkCase{"ReverseSequence",
                 [](SunkModel& m) {
                   Int(Int(m.Ints("lengths", {1, 2}).Node("ReverseSequence", {"d", "lengths"}, {"m"}), "batch_axis", 0),
                       "time_axis", 1);
                 }},
        SunkCase{"Compress",
                 [](SunkModel& m) {
                   m.Constant("kept", {3}, std::vector<uint8_t>{1, 0, 1}, onnx::TensorProto::BOOL);
                   Int(m.Node("Compress", {"d", "kept"}, {"m"}), "axis", 1);
                 }},
        SunkCase{"Expand", [](SunkModel& m) { m.Ints("to", {3, 1, 1, 1, 1}).Node("Expand", {"d", "to"}, {"m"}); }},
        SunkCase{"Tile", [](SunkModel& m) { m.Ints("times", {1, 2, 1, 1}).Node("Tile", {"d", "times"}, {"m"}); }},
        SunkCase{"SpaceToDepth", [](SunkModel& m) { Int(m.Node("SpaceToDepth", {"d"}, {"m"}), "blocksize", 2); }},
        SunkCase{"MaxPool", [](SunkModel& m) { Pooled(m); }},
        SunkCase{"NearestPixels", [](SunkModel& m) { Doubled(m, "nearest"); }, "Resize"}),
    [](const auto& info) { return info.param.name; });

TEST(SinkDequantizeTest, BehindSeveral) {
  SunkModel model;
  model.Dequantize("x", "d");
  Transpose(model, "d", "t", {0, 2, 3, 1});
  model.Ints("to", {2, -1}).Node("Reshape", {"t", "to"}, {"m"});
  model.Negate("m");
  EXPECT_EQ(model.After(), "Transpose Reshape DequantizeLinear Neg");
}

/// Each part has a DequantizeLinear of its own.
TEST(SinkDequantizeTest, BehindSplit) {
  SunkModel model;
  model.Dequantize("x", "d");
  Int(model.Ints("sizes", {2, 4}).Node("Split", {"d", "sizes"}, {"a", "b"}), "axis", 1);
  model.Negate("a");
  model.Negate("b");
  EXPECT_EQ(model.After(), "Split DequantizeLinear DequantizeLinear Neg Neg");
}

/// A part that nobody takes has no numbers to come from.
TEST(SinkDequantizeTest, SplitThatLeavesAPartOutStays) {
  SunkModel model;
  model.Dequantize("x", "d");
  Int(model.Ints("sizes", {2, 4}).Node("Split", {"d", "sizes"}, {"", "b"}), "axis", 1);
  model.Negate("b");
  EXPECT_EQ(model.After(), "DequantizeLinear Split Neg");
}

/// The scales go along the axis that was theirs.
TEST(SinkDequantizeTest, ScalesOfAnAxisAreTransposed) {
  for (const int64_t axis : {1, -3}) {
    SunkModel model;
    model.DequantizeAlong(axis);
    Transpose(model, "d", "m", {0, 2, 3, 1});
    model.Negate("m");
    EXPECT_EQ(model.After(), "Transpose DequantizeLinear Neg") << axis;
  }
}

TEST(SinkDequantizeTest, ScalesOfAnAxisStayBeforeOtherMoves) {
  SunkModel reshape;
  reshape.DequantizeAlong(1);
  reshape.Ints("to", {2, 6, 64}).Node("Reshape", {"d", "to"}, {"m"});
  reshape.Negate("m");
  EXPECT_EQ(reshape.After(), "DequantizeLinear Reshape Neg");
  SunkModel concat;
  concat.DequantizeAlong(1);
  Int(concat.Node("Concat", {"d", "d"}, {"m"}), "axis", 0);
  concat.Negate("m");
  EXPECT_EQ(concat.After(), "DequantizeLinear Concat Neg");
}

TEST(SinkDequantizeTest, BehindConcatOfOneQuantization) {
  SunkModel model;
  model.Dequantize("x", "a");
  Transpose(model, "x", "t", {0, 1, 3, 2});
  model.Dequantize("t", "b");
  Int(model.Node("Concat", {"a", "b"}, {"m"}), "axis", 1);
  model.Negate("m");
  EXPECT_EQ(model.After(), "Transpose Concat DequantizeLinear Neg");
}

TEST(SinkDequantizeTest, ConcatOfOthersStays) {
  for (const std::string other : {"scale", "zero", "type", "floats"}) {
    SunkModel model;
    model.Dequantize("x", "a");
    if (other == "floats") {
      Int(model.Node("Cast", {"x"}, {"b"}), "to", 1);
    } else if (other == "type") {
      Int(model.Node("Cast", {"x"}, {"signed"}), "to", static_cast<int64_t>(ElementType::kInt8));
      model.Quantized("c_zero", ElementType::kInt8, {}, {3})
          .Node("DequantizeLinear", {"signed", "a_scale", "c_zero"}, {"b"});
    } else {
      model.Dequantize("x", "b", other == "scale" ? 0.03f : 0.02f, other == "zero" ? 4 : 3);
    }
    Int(model.Node("Concat", {"a", "b"}, {"m"}), "axis", 1);
    model.Negate("m");
    EXPECT_EQ(Rewriting(model, {"sink_dequantize"}).report().passes[0].changes, 0u) << other;
  }
}

/// Whoever else reads the numbers, or sees them as an output, still has them; so has who sees the moved ones.
TEST(SinkDequantizeTest, OthersKeepTheNumbers) {
  for (const bool output : {false, true}) {
    SunkModel model;
    model.Dequantize("x", "d");
    Transpose(model, "d", "m", {0, 2, 3, 1});
    if (output) {
      model.AnyOutput("d", ElementType::kFloat).AnyOutput("m", ElementType::kFloat);
    } else {
      model.Negate("d");
      model.Negate("m");
    }
    const Rewriting rewriting(model, {"sink_dequantize", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.Difference({Value(QuantizedFrom(ElementType::kUInt8, Shape{2, 6, 8, 8}))}), "");
    std::multiset<std::string> left;
    const Graph& graph = rewriting.graph();
    for (const NodeIndex index : graph.TopologicalOrder()) {
      const Node& node = graph.node(index);
      left.insert(node.op_type);
      if (node.op_type == "Transpose") {
        EXPECT_EQ(graph.value(node.inputs[0]).name, "x");
      }
    }
    EXPECT_EQ(left.count("DequantizeLinear"), 2u);
    EXPECT_EQ(left.size(), output ? 3u : 5u);
  }
}

/// Operators that compute, or take what is not among the elements.
TEST(SinkDequantizeTest, BeforeWhatComputesItStays) {
  const std::vector<std::pair<std::string, std::function<void(SunkModel&)>>> cases = {
      {"Pad", [](SunkModel& m) { m.Ints("pads", {0, 0, 1, 1, 0, 0, 1, 1}).Node("Pad", {"d", "pads"}, {"m"}); }},
      {"linear", [](SunkModel& m) { Doubled(m, "linear"); }},
      {"cut out",
       [](SunkModel& m) {
         m.Floats("part", {8}, {0, 0, -0.5f, 0, 1, 1, 1, 1}).Ints("to", {2, 6, 9, 9});
         auto& resize = m.Node("Resize", {"d", "part", "", "to"}, {"m"});
         Text(Text(resize, "mode", "nearest"), "coordinate_transformation_mode", "tf_crop_and_resize");
       }},
      {"indices", [](SunkModel& m) { Pooled(m).add_output("indices"), m.AnyOutput("indices", ElementType::kInt64); }},
      {"average", [](SunkModel& m) { Ints(m.Node("AveragePool", {"d"}, {"m"}), "kernel_shape", {2, 2}); }}};
  for (const auto& [name, add] : cases) {
    SunkModel model;
    model.Dequantize("x", "d");
    add(model);
    model.Negate("m");
    const Rewriting rewriting(model, {"sink_dequantize"});
    EXPECT_EQ(rewriting.before(), rewriting.after()) << name;
    EXPECT_EQ(rewriting.Difference({Value(QuantizedFrom(ElementType::kUInt8, Shape{2, 6, 8, 8}))}), "") << name;
  }
}

/// Before version 12 MaxPool had no quantized values.
TEST(SinkDequantizeTest, OldPoolsStay) {
  for (const int opset : {11, 12}) {
    SunkModel model(ElementType::kUInt8, {2, 6, 8, 8}, opset);
    model.Dequantize("x", "d");
    Pooled(model);
    model.Negate("m");
    EXPECT_EQ(model.After(), opset == 11 ? "DequantizeLinear MaxPool Neg" : "MaxPool DequantizeLinear Neg");
  }
}

/// Scales that turn the order of quantized values around or make them all one number, that only the run knows, or of other
/// types.
TEST(SinkDequantizeTest, OtherQuantizationsStay) {
  for (const float scale : {-0.5f, 0.0f, 1e-40f, std::numeric_limits<float>::infinity()}) {
    SunkModel model;
    model.Dequantize("x", "d", scale);
    Pooled(model);
    model.Negate("m");
    EXPECT_EQ(model.After(), "DequantizeLinear MaxPool Neg") << scale;
  }
  for (const std::string reason : {"given scale", "given zero", "halves", "blocks", "wide values"}) {
    ModelBuilder model;
    const bool wide = reason == "wide values";
    model.Input("x", wide ? ElementType::kInt32 : ElementType::kUInt8, {2, 4});
    if (reason == "given scale") model.Input("scale", ElementType::kFloat, {});
    else if (reason == "halves") model.Constant("scale", {}, std::vector<uint8_t>{0, 0x38}, onnx::TensorProto::FLOAT16);
    else if (reason == "blocks") model.Floats("scale", {2, 2}, {1, 2, 3, 4});
    else model.Floats("scale", {}, {0.5f});
    if (reason == "given zero") model.Input("zero", ElementType::kUInt8, {});
    else if (reason == "blocks") model.Quantized("zero", ElementType::kUInt8, {2, 2}, {1, 2, 3, 4});
    else model.Quantized("zero", wide ? ElementType::kInt32 : ElementType::kUInt8, {}, {0});
    auto& node = model.Node("DequantizeLinear", {"x", "scale", "zero"}, {"d"});
    if (reason == "blocks") Int(Int(node, "axis", 1), "block_size", 2);
    Transpose(model, "d", "m", {1, 0});
    model.AnyOutput("m", reason == "halves" ? ElementType::kFloat16 : ElementType::kFloat);
    EXPECT_EQ(Rewriting(model, {"sink_dequantize"}).after(), "DequantizeLinear Transpose") << reason;
  }
}

TEST(QuantizedMoves, AreOfTheQuantizedValues) {
  QuantizedModel q({2, 6, 8, 8}, 3, ElementType::kUInt8);
  auto& pool = q.model().Node("MaxPool", {"xd"}, {"p"});
  Ints(pool, "kernel_shape", {2, 2});
  Ints(pool, "strides", {2, 2});
  q.Quantize("p", "pd", 0.02f, q.Zero());
  Ints(q.model().Node("Transpose", {"pd"}, {"t"}), "perm", {0, 2, 3, 1});
  q.model().Ints("shape", {2, 16, 6});
  q.model().Node("Reshape", {"t", "shape"}, {"r"});
  q.Quantize("r", "y", 0.02f, q.Zero());
  ExpectSame(q.model(), {2, 6, 8, 8}, "QuantizeLinear MaxPool Transpose Reshape DequantizeLinear", 1e-6f);
}

TEST(QuantizedMoves, InPartsAreOfTheQuantizedValues) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    QuantizedModel q({2, 6, 8, 8}, 4, type);
    q.model().Ints("sizes", {2, 4});
    Int(q.model().Node("Split", {"xd", "sizes"}, {"a", "b"}), "axis", 1);
    q.Quantize("a", "ad", 0.02f, q.Zero());
    q.Quantize("b", "bd", 0.02f, q.Zero());
    q.model().Floats("scales", {4}, {1, 1, 2, 2});
    for (const char* part : {"a", "b"}) {
      auto& resize = q.model().Node("Resize", {std::string(part) + "d", "", "scales"}, {std::string(part) + "r"});
      Text(resize, "mode", "nearest");
      q.Quantize(std::string(part) + "r", std::string(part) + "s", 0.02f, q.Zero());
    }
    Int(q.model().Node("Concat", {"bs", "as"}, {"c"}), "axis", 1);
    q.Quantize("c", "y", 0.02f, q.Zero());
    ExpectSame(q.model(), {2, 6, 8, 8}, "QuantizeLinear Split Resize Resize Concat DequantizeLinear", 1e-6f);
  }
}

}  // namespace
}  // namespace tessera::testing
