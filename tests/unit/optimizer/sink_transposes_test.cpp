#include <functional>
#include <sstream>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

using Dims = std::vector<int64_t>;
const Dims kToNhwc = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2};

/// c, [2, 4, 3, 5] with channels first, is t, [2, 3, 5, 4]; y is r with channels first again.
struct SinkingCase {
  std::string name, after;
  std::function<void(ModelBuilder&)> add;  // from t (and c) to r
  int opset = 21;
  ElementType result = ElementType::kFloat;
};

ModelBuilder SinkingModel(const SinkingCase& sinking) {
  ModelBuilder model(sinking.opset);
  model.Input("c", ElementType::kFloat, {2, 4, 3, 5}).Output("y", sinking.result, {-1, -1, -1, -1});
  Transpose(model, "c", "t", kToNhwc);
  sinking.add(model);
  Transpose(model, "r", "y", kToFirst);
  return model;
}

const SinkingCase kSunk[] = {
    {"Unary", "Relu Cast Neg Cast",
     [](ModelBuilder& m) {
       m.Node("Relu", {"t"}, {"a"});
       Int(m.Node("Cast", {"a"}, {"b"}), "to", static_cast<int64_t>(ElementType::kDouble));
       m.Node("Neg", {"b"}, {"d"});
       Int(m.Node("Cast", {"d"}, {"r"}), "to", static_cast<int64_t>(ElementType::kFloat));
     }},
    {"Residual", "Relu Sigmoid Add Mul",
     [](ModelBuilder& m) {
       m.Node("Relu", {"t"}, {"a"});
       Transpose(m, "a", "b", kToFirst);
       m.Node("Sigmoid", {"b"}, {"d"});
       Transpose(m, "d", "e", kToNhwc);
       m.Node("Add", {"e", "a"}, {"s"});
       m.Node("Mul", {"s", "t"}, {"r"});
     }},
    {"Constants", "Add Mul Sub Where",
     [](ModelBuilder& m) {
       m.Floats("channel", {4}, Numbers(4))
           .Floats("column", {5, 1}, Numbers(5))
           .Floats("image", {3, 5, 4}, Numbers(60))
           .Floats("one", {}, {2});
       m.Constant("mask", Dims{4}, std::span<const uint8_t>(std::vector<uint8_t>{1, 0, 0, 1}), onnx::TensorProto::BOOL);
       m.Node("Add", {"t", "channel"}, {"a"});
       m.Node("Mul", {"column", "a"}, {"b"});
       m.Node("Sub", {"image", "b"}, {"d"});
       m.Node("Where", {"mask", "d", "one"}, {"r"});
     }},
    {"ConcatSplit", "Split Concat",
     [](ModelBuilder& m) {
       Int(Int(m.Node("Split", {"t"}, {"a", "b"}), "axis", -1), "num_outputs", 2);
       Int(m.Node("Concat", {"b", "a", "t"}, {"r"}), "axis", 3);
     }},
    {"Slice", "Slice Slice",
     [](ModelBuilder& m) {
       m.Ints("starts", {1, -1})
           .Ints("ends", {3, -4})
           .Ints("axes", {3, 2})
           .Ints("steps", {1, -1})
           .Ints("from", {0, 1})
           .Ints("to", {2, 3});
       m.Node("Slice", {"t", "starts", "ends", "axes", "steps"}, {"a"});
       m.Node("Slice", {"a", "from", "to"}, {"r"});
     }},
    {"SliceAttributes", "Slice Slice",
     [](ModelBuilder& m) {
       Ints(Ints(Ints(m.Node("Slice", {"t"}, {"a"}), "axes", {1, 3}), "starts", {1, 0}), "ends", {3, 2});
       Ints(Ints(m.Node("Slice", {"a"}, {"r"}), "starts", {0, 1}), "ends", {2, 2});
     },
     9},
    {"Pad", "Pad Pad",
     [](ModelBuilder& m) {
       m.Ints("pads", {0, 1, 2, 0, 0, 3, 0, 1}).Ints("some", {1, 2}).Ints("axes", {-2}).Floats("value", {}, {7});
       m.Node("Pad", {"t", "pads", "value"}, {"a"});
       m.Node("Pad", {"a", "some", "", "axes"}, {"r"});
     }},
    {"ReduceSoftmax", "ReduceMean ReduceMax Softmax Add Mul",
     [](ModelBuilder& m) {
       m.Ints("axes", {1, -2});
       m.Node("ReduceMean", {"t", "axes"}, {"a"});
       m.Node("ReduceMax", {"t"}, {"b"});
       Int(m.Node("Softmax", {"t"}, {"d"}), "axis", 2);
       m.Node("Add", {"a", "d"}, {"e"});
       m.Node("Mul", {"e", "b"}, {"r"});
     }},
    {"ArgMax", "ArgMax", [](ModelBuilder& m) { Int(m.Node("ArgMax", {"t"}, {"r"}), "axis", 3); }, 21, ElementType::kInt64},
    {"Quantization", "QuantizeLinear DequantizeLinear",
     [](ModelBuilder& m) {
       m.Floats("scale", {4}, {0.1f, 0.2f, 0.3f, 0.4f})
           .Quantized("zero", ElementType::kUInt8, {4}, {128, 120, 130, 110})
           .Floats("s", {}, {0.1f});
       m.Quantized("z", ElementType::kUInt8, {}, {128});
       Int(m.Node("QuantizeLinear", {"t", "scale", "zero"}, {"q"}), "axis", -1);
       m.Node("DequantizeLinear", {"q", "s", "z"}, {"r"});
     }},
    // The mean stands in the same order, without a Transpose.
    {"Means", "Relu ReduceMean Slice Squeeze",
     [](ModelBuilder& m) {
       m.Node("Relu", {"t"}, {"r"});
       m.Ints("axes", {1, 2}).Output("mean", ElementType::kFloat, {2, 4}).Output("least", ElementType::kFloat, {2, 4});
       Int(m.Node("ReduceMean", {"r", "axes"}, {"mean"}), "keepdims", 0);
       m.Ints("firsts", {1, 1}).Ints("at", {0, 0});
       m.Node("Slice", {"r", "at", "firsts", "axes"}, {"first"});
       m.Node("Squeeze", {"first", "axes"}, {"least"});
     }},
    // Another reader needs it as it was: one Transpose instead of two.
    {"OtherReader", "Relu Transpose MatMul",
     [](ModelBuilder& m) {
       m.Node("Relu", {"t"}, {"r"});
       m.Floats("w", {4, 2}, Numbers(8)).Output("p", ElementType::kFloat, {2, 3, 5, 2});
       m.Node("MatMul", {"r", "w"}, {"p"});
     }},
};

TEST(SinkTransposes, TransposesCancel) {
  for (const SinkingCase& sinking : kSunk) {
    SCOPED_TRACE(sinking.name);
    const Rewriting rewriting(SinkingModel(sinking), {"sink_transposes", "fold_constants", "eliminate_dead_nodes"});
    std::multiset<std::string> found, expected;
    std::istringstream after(rewriting.after()), wanted(sinking.after);
    for (std::string word; after >> word;) found.insert(word);
    for (std::string word; wanted >> word;) expected.insert(word);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(rewriting.Difference(), "");
  }
}

void ExpectLeft(const ModelBuilder& model) {
  const Rewriting rewriting(model, {"sink_transposes"});
  EXPECT_EQ(rewriting.after(), rewriting.before());
}

TEST(SinkTransposes, LeavesWhatWouldMoveMore) {
  // One way or the other it is one Transpose.
  ModelBuilder one;
  one.Input("c", ElementType::kFloat, {2, 4, 3, 5}).Output("r", ElementType::kFloat, {2, 3, 5, 4});
  Transpose(one, "c", "t", kToNhwc);
  one.Node("Relu", {"t"}, {"r"});
  ExpectLeft(one);
  // The other operand would be transposed instead.
  ModelBuilder other;
  other.Input("c", ElementType::kFloat, {2, 4, 3, 5}).Input("z", ElementType::kFloat, {2, 3, 5, 4});
  other.Output("y", ElementType::kFloat, {2, 4, 3, 5});
  other.Node("Add", {"z", "z"}, {"zz"});
  Transpose(other, "c", "t", kToNhwc);
  other.Node("Mul", {"t", "zz"}, {"a"});
  other.Output("a", ElementType::kFloat, {2, 3, 5, 4});
  Transpose(other, "a", "y", kToFirst);
  ExpectLeft(other);
}

TEST(SinkTransposes, LeavesWhatStandsInOneOrder) {
  for (const SinkingCase& left : {
           SinkingCase{"VectorOfOneOrder", "",
                       [](ModelBuilder& m) {
                         m.Input("v", ElementType::kFloat, {4});
                         m.Node("Mul", {"t", "v"}, {"r"});
                       }},
           SinkingCase{"OtherAxesLeft", "",
                       [](ModelBuilder& m) {
                         m.Ints("axes", {2}).Ints("two", {3});
                         Int(m.Node("ReduceSum", {"t", "axes"}, {"a"}), "keepdims", 0);
                         m.Node("Unsqueeze", {"a", "two"}, {"r"});
                       }},
           SinkingCase{"UnknownAxes", "",
                       [](ModelBuilder& m) {
                         m.Input("axes", ElementType::kInt64, {1});
                         m.Node("ReduceSum", {"t", "axes"}, {"r"});
                       }},
           SinkingCase{"SoftmaxOfRows", "", [](ModelBuilder& m) { Int(m.Node("Softmax", {"t"}, {"r"}), "axis", 1); }, 11},
       }) {
    SCOPED_TRACE(left.name);
    ExpectLeft(SinkingModel(left));
  }
}

// Pad makes more of its input: it is cheaper to transpose that, and the convolution takes Pad in then.
TEST(SinkTransposes, TransposesWhatIsSmaller) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 4, 4, 3}).Output("y", ElementType::kFloat, {1, 3, 8, 8});
  model.Ints("pads", {0, 2, 2, 0, 0, 2, 2, 0});
  model.Node("Pad", {"x", "pads"}, {"p"});
  Transpose(model, "p", "y", kToFirst);
  const Rewriting rewriting(model, {"sink_transposes"});
  EXPECT_EQ(rewriting.after(), "Transpose Pad");
  EXPECT_EQ(rewriting.Difference(), "");
}

// Each Transpose is a way into the region and a way back: which it counts as, the region is turned over once.
TEST(SinkTransposes, APermutationThatIsItsOwnInverse) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4, 4}).Output("y", ElementType::kFloat, {4, 4}).Floats("two", {}, {2});
  model.Node("Mul", {"x", "two"}, {"m"});
  std::string sum = "x";
  for (const std::string from : {"x", "m"}) {
    Transpose(model, from, from + "t", {1, 0});
    model.Node("Softmax", {from + "t"}, {from + "s"});
    model.Node("Add", {sum, from + "s"}, {from == "m" ? "y" : from + "a"});
    sum = from + "a";
  }
  const Rewriting rewriting(model, {"sink_transposes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Transpose Mul Softmax Add Softmax Add");
  EXPECT_EQ(rewriting.report().passes[0].changes, 1u);
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(SinkTransposes, OutputsKeepTheirNames) {
  ModelBuilder model;
  model.Input("c", ElementType::kFloat, {2, 4, 3, 5})
      .Output("y", ElementType::kFloat, {2, 4, 3, 5})
      .Output("z", ElementType::kFloat, {2, 4, 3, 5});
  model.Output("r", ElementType::kFloat, {2, 3, 5, 4});
  Transpose(model, "c", "t", kToNhwc);
  model.Node("Relu", {"t"}, {"r"});
  Transpose(model, "r", "y", kToFirst);
  Transpose(model, "r", "z", kToFirst);
  const Rewriting rewriting(model, {"sink_transposes"});
  EXPECT_EQ(rewriting.Difference(), "");
}

// Convolutions as TensorFlow's exporters write them, with a shortcut and squeezed scales, compute in blocks from end to
// end.
TEST(SinkTransposes, ConvolutionsBetweenTransposes) {
  ModelBuilder model(18);
  model.Input("x", ElementType::kFloat, {-1, 6, 6, 16}).Output("y", ElementType::kFloat, {-1, 16});
  model.Ints("image", {1, 2}).Floats("bias", {16}, Numbers(16, -0.5f));
  int count = 0;
  const auto convolution = [&](const std::string& from, int64_t size) {
    const std::string name = std::to_string(count++);
    model.Floats("w" + name, {16, 16, size, size},
                 Numbers(static_cast<size_t>(256 * size * size), -0.2f * static_cast<float>(count)));
    Transpose(model, from, "first" + name, kToFirst);
    Ints(model.Node("Conv", {"first" + name, "w" + name}, {"conv" + name}), "pads", Dims(4, size / 2));
    Transpose(model, "conv" + name, "last" + name, kToNhwc);
    model.Node("Add", {"last" + name, "bias"}, {"sum" + name});
    return "sum" + name;
  };
  model.Node("Relu", {convolution("x", 3)}, {"a"});
  model.Node("Relu", {convolution("a", 3)}, {"b"});
  model.Node("ReduceMean", {"b", "image"}, {"mean"});
  model.Node("HardSigmoid", {convolution("mean", 1)}, {"gate"});
  model.Node("Mul", {"b", "gate"}, {"scaled"});
  model.Node("Add", {convolution("scaled", 3), "a"}, {"s"});
  model.Node("Relu", {"s"}, {"last"});
  Int(model.Node("ReduceMean", {"last", "image"}, {"y"}), "keepdims", 0);
  const Tensor x = testing::Floats({2, 6, 6, 16}, Numbers(2 * 6 * 6 * 16, -1));
  const LevelResults plain = RunAt(model, OptimizationLevel::kNone, x, 1),
                     fast = RunAt(model, OptimizationLevel::kAll, x, 1);
  EXPECT_EQ(fast.operators.count("Transpose"), 1u);
  EXPECT_EQ(plain.operators.count("Transpose"), 8u);
  const auto expected = ToVector(plain.values[0]), got = ToVector(fast.values[0]);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-4f * std::max(1.0f, std::abs(expected[i])));
}

}  // namespace
}  // namespace tessera::testing
