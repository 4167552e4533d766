#include "attributes.h"
#include "optimizer/quantized_model.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// Quantized values "x" [2, 5, 8] with one scale, numbers "xd"; constant quantized values "w" [8, 6], numbers "wd".
class IntegerModel : public ModelBuilder {
 public:
  explicit IntegerModel(ElementType type = ElementType::kUInt8) : ModelBuilder(17), type_(type) {
    Input("x", type, {2, 5, 8}).Floats("x_scale", {}, {0.02f}).Quantized("x_zero", type, {}, {5});
  }

  void Dequantize() { Node("DequantizeLinear", {"x", "x_scale", "x_zero"}, {"xd"}); }

  /// With a scale for each index of the axis, or one where it is -1.
  void Weights(int64_t axis = -1, const Dims& dims = {8, 6}) {
    std::vector<int> values;
    for (int64_t i = 0; i < CountOf(dims); ++i) values.push_back(static_cast<int>(i * 37 % 255) - 127);
    Quantized("w", ElementType::kInt8, dims, values);
    const int64_t count = axis < 0 ? 1 : dims[static_cast<size_t>(axis)];
    const Dims scales = axis < 0 ? Dims{} : Dims{count};
    std::vector<int> zeros;
    for (int64_t i = 0; i < count; ++i) zeros.push_back(static_cast<int>(i) - 2);
    Floats("w_scale", scales, Numbers(static_cast<size_t>(count), 3))
        .Quantized("w_zero", ElementType::kInt8, scales, zeros);
    auto& node = Node("DequantizeLinear", {"w", "w_scale", "w_zero"}, {"wd"});
    if (axis >= 0) Int(node, "axis", axis);
  }

  /// The operators that are left, which give nearly the same numbers.
  std::string After() const {
    const Rewriting rewriting(*this, {"fuse_integer_matmul", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.Difference(Given(), true), "");
    return rewriting.after();
  }

  /// Nothing is changed.
  void ExpectLeft(const std::string& why) const {
    EXPECT_EQ(Rewriting(*this, {"fuse_integer_matmul"}).report().passes[0].changes, 0u) << why;
  }

 private:
  std::vector<Value> Given() const { return {Value(QuantizedFrom(type_, Shape{2, 5, 8}))}; }

  ElementType type_;
};

TEST(FuseIntegerMatMul, OfDequantizedOperands) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    for (const int64_t axis : {-1, 1}) {
      IntegerModel model(type);
      model.Dequantize();
      model.Weights(axis);
      model.Node("MatMul", {"xd", "wd"}, {"y"});
      model.AnyOutput("y", ElementType::kFloat);
      EXPECT_EQ(model.After(), "MatMulIntegerToFloat");
    }
  }
}

TEST(FuseIntegerMatMul, LeavesScalesOfRowsAndManyMatrices) {
  for (const bool rows : {true, false}) {
    IntegerModel model;
    model.Dequantize();
    rows ? model.Weights(0, {8, 8}) : model.Weights(-1, {2, 8, 6});
    model.Node("MatMul", {"xd", "wd"}, {"y"});
    model.AnyOutput("y", ElementType::kFloat);
    model.ExpectLeft(rows ? "rows" : "matrices");
  }
}

/// Of quantized values that are no constant, and of numbers that were no quantized values, on either side.
TEST(FuseIntegerMatMul, LeavesOtherOperands) {
  for (const std::string reason : {"computed weights", "float weights", "float lhs", "scales by row"}) {
    IntegerModel model;
    model.Weights();
    if (reason == "computed weights") {
      model.proto().mutable_graph()->mutable_node(0)->set_input(0, "turned");
      Transpose(model, "w", "turned", {0, 1});
    } else if (reason == "float weights") {
      model.Floats("f", {8, 6}, Numbers(48));
    }
    if (reason == "float lhs") {
      Int(model.Node("Cast", {"x"}, {"xd"}), "to", 1);
    } else if (reason == "scales by row") {
      model.Floats("s", {5}, {1, 2, 3, 4, 5}).Quantized("z", ElementType::kUInt8, {5}, {1, 2, 3, 4, 5});
      Int(model.Node("DequantizeLinear", {"x", "s", "z"}, {"xd"}), "axis", 1);
    } else {
      model.Dequantize();
    }
    model.Node("MatMul", {"xd", reason == "float weights" ? "f" : "wd"}, {"y"});
    model.AnyOutput("y", ElementType::kFloat);
    model.ExpectLeft(reason);
  }
}

/// The bias goes in from either side, once.
TEST(FuseIntegerMatMul, TakesABias) {
  for (const bool first : {false, true}) {
    for (const bool twice : {false, true}) {
      IntegerModel model;
      model.Dequantize();
      model.Weights(1);
      model.Floats("b", {6}, Numbers(6)).Floats("c", {6}, Numbers(6, 2)).Node("MatMul", {"xd", "wd"}, {"p"});
      const std::string sum = twice ? "s" : "y";
      first ? model.Node("Add", {"b", "p"}, {sum}) : model.Node("Add", {"p", "b"}, {sum});
      if (twice) model.Node("Add", {"s", "c"}, {"y"});
      model.AnyOutput("y", ElementType::kFloat);
      EXPECT_EQ(model.After(), twice ? "MatMulIntegerToFloat Add" : "MatMulIntegerToFloat");
    }
  }
}

TEST(FuseIntegerMatMul, LeavesOtherSums) {
  for (const std::string reason : {"row", "one number", "rows", "computed", "read twice", "output"}) {
    IntegerModel model;
    model.Dequantize();
    model.Weights();
    if (reason == "row") model.Floats("b", {1, 6}, Numbers(6));
    else if (reason == "one number") model.Floats("b", {}, {2});
    else if (reason == "rows") model.Floats("b", {5, 1}, Numbers(5));
    else if (reason == "computed") model.Floats("a", {6}, Numbers(6)).Node("Neg", {"a"}, {"b"});
    else model.Floats("b", {6}, Numbers(6));
    model.Node("MatMul", {"xd", "wd"}, {"p"});
    model.Node("Add", {"p", "b"}, {"y"});
    model.AnyOutput("y", ElementType::kFloat);
    if (reason == "read twice") {
      model.Node("Neg", {"p"}, {"z"});
      model.AnyOutput("z", ElementType::kFloat);
    }
    if (reason == "output") model.AnyOutput("p", ElementType::kFloat);
    const std::string after = model.After();
    EXPECT_NE(after.find("MatMulIntegerToFloat"), std::string::npos) << reason;
    EXPECT_NE(after.find("Add"), std::string::npos) << reason;
  }
}

/// What dynamic quantization exports: matmuls of quantized values as floats, times both scales.
struct ScaledProduct {
  std::string reason;
  std::vector<float> scales = {0.01f};
  Dims scale_dims = {};
};

IntegerModel Scaled(const ScaledProduct& c) {
  IntegerModel model;
  model.Weights();
  const auto& reason = c.reason;
  const bool halves = reason == "halves";
  const ElementType type = halves ? ElementType::kFloat16 : ElementType::kFloat;
  if (reason == "vector lhs scale") model.Floats("s", {1}, {0.02f});
  if (halves) model.Constant("s", {}, std::vector<uint8_t>{0, 0x24}, onnx::TensorProto::FLOAT16);  // 1/64
  model.Floats("scales", c.scale_dims, c.scales);
  if (reason == "computed weights") Transpose(model, "w", "turned", {0, 1});
  if (reason == "computed zero") Transpose(model, "w_zero", "zero", {});
  if (reason == "zeros by row") model.Quantized("zeros", ElementType::kUInt8, {5}, {1, 2, 3, 4, 5});
  model.Node("MatMulInteger",
             {"x", reason == "computed weights" ? "turned" : "w", reason == "zeros by row" ? "zeros" : "x_zero",
              reason == "computed zero" ? "zero" : "w_zero"},
             {"p"});
  Int(model.Node("Cast", {"p"}, {"f"}), "to", static_cast<int64_t>(type));
  const std::string scales = reason == "computed scales" ? "abs" : "scales";
  if (scales == "abs") model.Node("Abs", {"scales"}, {"abs"});
  model.Node(reason == "scales added" ? "Add" : "Mul",
             {halves || reason == "vector lhs scale" ? "s" : "x_scale", halves ? "s" : scales}, {"both"});
  std::string factor = "both";
  if (reason == "one factor") factor = "scales";
  if (reason == "square") factor = "f";
  model.Node(reason == "sum" ? "Add" : "Mul",
             {reason == "factor first" ? factor : "f", reason == "factor first" ? "f" : factor}, {"y"});
  model.AnyOutput("y", type);
  if (reason == "output") model.AnyOutput("f", type);
  if (reason == "values read") model.AnyOutput("p", ElementType::kInt32);
  return model;
}

TEST(FuseIntegerMatMul, OfScaledProducts) {
  for (const ScaledProduct& c :
       {ScaledProduct{"one scale"}, ScaledProduct{"scale of a vector", {0.01f}, {1}}, ScaledProduct{"factor first"},
        ScaledProduct{"scales by column", {1, 2, 3, 4, 5, 6}, {6}}}) {
    EXPECT_EQ(Scaled(c).After(), "MatMulIntegerToFloat") << c.reason;
  }
}

TEST(FuseIntegerMatMul, LeavesOtherProducts) {
  for (const ScaledProduct& c :
       {ScaledProduct{"vector lhs scale", {1, 2, 3, 4, 5, 6}, {6}}, ScaledProduct{"scales by row", {1, 2, 3, 4, 5}, {5, 1}},
        ScaledProduct{"scale of a matrix", {0.01f}, {1, 1}}, ScaledProduct{"computed weights"},
        ScaledProduct{"computed zero"}, ScaledProduct{"zeros by row"},
        ScaledProduct{"computed scales", {1, 2, 3, 4, 5, 6}, {6}}, ScaledProduct{"halves"}, ScaledProduct{"scales added"},
        ScaledProduct{"one factor"}, ScaledProduct{"square"}, ScaledProduct{"sum"}, ScaledProduct{"output"},
        ScaledProduct{"values read"}}) {
    Scaled(c).ExpectLeft(c.reason);
  }
}

TEST(QuantizedMatMuls, WithFloatResultsTakeTheirBias) {
  QuantizedModel q({5, 48}, 2, ElementType::kUInt8);
  q.Weights("w", {48, 21}, 1, 60);
  q.Bias("b", 21);
  q.model().Node("MatMul", {"xd", "w"}, {"p"});
  q.model().Node("Add", {"b", "p"}, {"y"});
  ExpectSame(q.model(), {5, 48}, "QuantizeLinear MatMulIntegerToFloat", 1e-4f);
}

TEST(QuantizedMatMuls, OfDynamicQuantizationKeepTheScales) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {6, 32}).Output("y", ElementType::kFloat, {6, 10});
  std::vector<int> quantized;
  for (int i = 0; i < 320; ++i) quantized.push_back(i * 37 % 255 - 127);
  model.Quantized("w", ElementType::kInt8, {32, 10}, quantized);
  model.Quantized("w_zero", ElementType::kInt8, {}, {4});
  model.Floats("w_scale", {}, {0.01f}).Floats("b", {10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  model.Node("DynamicQuantizeLinear", {"x"}, {"q", "q_scale", "q_zero"});
  model.Node("MatMulInteger", {"q", "w", "q_zero", "w_zero"}, {"p"});
  Int(model.Node("Cast", {"p"}, {"f"}), "to", 1);
  model.Node("Mul", {"q_scale", "w_scale"}, {"scale"});
  model.Node("Mul", {"f", "scale"}, {"s"});
  model.Node("Add", {"s", "b"}, {"y"});
  ExpectSame(model, {6, 32}, "DynamicQuantizeLinear MatMulIntegerToFloat", 1e-4f);
}

}  // namespace
}  // namespace tessera::testing
