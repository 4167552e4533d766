#include <algorithm>
#include <cmath>
#include <limits>

#include "providers/onednn_models.h"

namespace tessera::testing {
namespace {

TEST(OnednnOperators, Reductions) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{2}, {-1, 1}, {0}, {}, {3}}) {
      for (const int64_t keeps : {0, 1}) {
        SCOPED_TRACE(::testing::Message() << op << " of " << axes.size() << " axes, keepdims " << keeps);
        ModelBuilder model;
        model.Input("x", ElementType::kFloat, {3, 5, 1, 7});
        model.AnyOutput("y", ElementType::kFloat);
        model.Node("Abs", {"x"}, {"a"});
        auto& node = axes.empty() ? model.Node(op, {"a"}, {"y"}) : model.Node(op, {"a", "axes"}, {"y"});
        if (!axes.empty()) model.Ints("axes", axes);
        Int(node, "keepdims", keeps);
        ExpectOnOnednn(model, {RandomTensor({3, 5, 1, 7}, 4)});
      }
    }
  }
}

TEST(OnednnOperators, TransposesThatMoveOnlyAxesOfOneElement) {
  for (const char* op : {"Mul", "Add", "Div"}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 1, 4, 8}).Output("y", ElementType::kFloat, {2, 4, 1, 8});
    model.Floats("c", {1, 1, 8}, {0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f, 4});
    Ints(model.Node("Transpose", {"x"}, {"t"}), "perm", {0, 2, 1, 3});
    model.Node(op, {"t", "c"}, {"b"});
    model.Node("Neg", {"b"}, {"y"});
    ExpectOnOnednn(model, {RandomTensor({2, 1, 4, 8}, 4)});
  }
}

TEST(OnednnOperators, Elementwise) {
  for (const char* op : {"Exp", "Neg", "Reciprocal", "Round", "Mish", "Pow"}) {
    SCOPED_TRACE(op);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 3, 17}).Output("y", ElementType::kFloat, {2, 3, 17});
    model.Floats("two", {}, {2.0f});
    const bool of_two = std::string_view(op) == "Pow";
    if (std::string_view(op) == "Reciprocal") {
      model.Floats("one", {}, {3.0f});
      model.Node("Add", {"x", "one"}, {"a"});
    } else {
      model.Floats("four", {}, {4.0f});
      model.Node("Mul", {"x", "four"}, {"a"});
    }
    if (of_two) {
      model.Node(op, {"a", "two"}, {"y"});
    } else {
      model.Node(op, {"a"}, {"y"});
    }
    ExpectOnOnednn(model, {RandomTensor({2, 3, 17}, 4)});
  }
}

/// One channel lies in memory as channels that come last do.
TEST(OnednnOperators, NumbersOfFewerDimensionsBesideOneChannel) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {1}, {1, 1}, {1, 1, 1}, {7}, {5, 1}}) {
    for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
      SCOPED_TRACE(::testing::Message() << op << " of " << dims.size() << " dimensions");
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {1, 1, 5, 8})
          .Input("c", ElementType::kFloat, dims)
          .Output("y", ElementType::kFloat, {1, 1, 5, 7});
      Weights(model, "w", {8, 7});
      model.Node("MatMul", {"x", "w"}, {"a"});
      model.Node(op, {"a", "c"}, {"y"});
      const std::vector<float> numbers = {1.5f, -2, 3, 0.5f, -0.25f, 2, -1};
      const Shape shape(dims);
      ExpectOnOnednn(model,
                     {RandomTensor({1, 1, 5, 8}, 4),
                      Tensor::Of<float>(shape, std::span(numbers).first(static_cast<size_t>(shape.num_elements())))});
    }
  }
}

/// Of which oneDNN would give the other operand.
TEST(OnednnOperators, ExtremesOfNaN) {
  for (const char* op : {"Max", "Min"}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {64})
        .Input("z", ElementType::kFloat, {64})
        .Output("y", ElementType::kFloat, {64});
    model.Node(op, {"x", "z"}, {"y"});
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> x(64, 1.0f), z(64, 2.0f);
    x[3] = z[7] = nan;
    std::vector<Value> results(1);
    model.Session(OnProvider("dnnl"))
        .Run(std::vector<Value>{Tensor::Of<float>(Shape{64}, x), Tensor::Of<float>(Shape{64}, z)}, results);
    const auto y = ToVector(results[0]);
    EXPECT_TRUE(std::isnan(y[3])) << op;
    EXPECT_TRUE(std::isnan(y[7])) << op;
  }
}

/// NaN and infinities in the same places, else nearly the same numbers. `least`: nodes that oneDNN has.
void ExpectTheSameNumbers(const ModelBuilder& model, const Tensor& x, size_t least = 1) {
  const Session session = model.Session(OnProvider("dnnl"));
  const auto& nodes = session.placement().nodes;
  EXPECT_GE(std::ranges::count(nodes, "DnnlExecutionProvider", &PlacementReport::NodeEntry::provider),
            static_cast<std::ptrdiff_t>(least));
  const std::vector<float> actual = RunOne(session, x), expected = RunOne(model.Session(OnProvider("cpu")), x);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isfinite(expected[i]))
      EXPECT_NEAR(actual[i], expected[i], 1e-4f * (1 + std::abs(expected[i]))) << "element " << i;
    else
      EXPECT_TRUE(std::isnan(expected[i]) ? std::isnan(actual[i]) : actual[i] == expected[i])
          << "element " << i << ": " << actual[i];
  }
}

/// Numbers of a tensor of these dimensions, 1, -2, 3, -4 ..., with NaN and both infinities among them.
Tensor WithNoNumbers(const Shape& shape) {
  std::vector<float> x(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < x.size(); ++i) x[i] = (i % 2 == 0 ? 1.0f : -1.0f) * static_cast<float>(i % 7);
  x[1] = std::numeric_limits<float>::quiet_NaN();
  x[x.size() / 2] = std::numeric_limits<float>::infinity();
  x[x.size() - 2] = -std::numeric_limits<float>::infinity();
  return Tensor::Of<float>(shape, x);
}

onnx::NodeProto& Bounded(ModelBuilder& model, const std::string& op, const std::string& x, const std::string& y) {
  if (op == "Pow") return model.Floats("half", {}, {0.5f}).Node(op, {x, "half"}, {y});
  if (op != "Clip") return model.Node(op, {x}, {y});
  model.Floats("low", {}, {0.5f}).Floats("high", {}, {2.5f});
  return model.Node(op, {x, "low", "high"}, {y});
}

TEST(OnednnOperators, KeepWhatIsNoNumber) {
  for (const char* op :
       {"Relu", "Clip", "Exp", "Elu", "Sigmoid", "Tanh", "Sqrt", "Abs", "Neg", "LeakyRelu", "HardSigmoid", "Pow"}) {
    SCOPED_TRACE(op);
    ModelBuilder alone;
    alone.Input("x", ElementType::kFloat, {1, 5, 3, 7}).Output("y", ElementType::kFloat, {1, 5, 3, 7});
    Bounded(alone, op, "x", "t");
    alone.Node("Neg", {"t"}, {"y"});
    ExpectTheSameNumbers(alone, WithNoNumbers({1, 5, 3, 7}), 0);
  }
}

TEST(OnednnOperators, KeepWhatIsNoNumberBehindConvolutionsAndMatMuls) {
  for (const char* op : {"Relu", "Clip", "Exp", "HardSwish", "Sigmoid"}) {
    for (const int64_t channels : {5, 16}) {  // with and without padding in blocks
      SCOPED_TRACE(::testing::Message() << op << " of " << channels << " channels");
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {1, channels, 3, 7}).Output("y", ElementType::kFloat, {1, channels, 3, 7});
      std::vector<float> same(static_cast<size_t>(channels), 1.0f);
      model.Floats("w", {channels, 1, 1, 1}, same);  // of each channel by itself: nothing else becomes NaN
      Int(model.Node("Conv", {"x", "w"}, {"c"}), "group", channels);
      Bounded(model, op, "c", "y");
      ExpectTheSameNumbers(model, WithNoNumbers({1, channels, 3, 7}));
    }
    SCOPED_TRACE(op);
    ModelBuilder matmul;
    matmul.Input("x", ElementType::kFloat, {6, 4})
        .Input("z", ElementType::kFloat, {4, 4})
        .Output("y", ElementType::kFloat, {6, 4});
    matmul.Node("MatMul", {"x", "z"}, {"p"});
    Bounded(matmul, op, "p", "y");
    const std::vector<Value> inputs = {WithNoNumbers({6, 4}), RandomTensor({4, 4}, 3)};
    std::vector<Value> results(1), expected(1);
    matmul.Session(OnProvider("dnnl")).Run(inputs, results);
    matmul.Session(OnProvider("cpu")).Run(inputs, expected);
    for (size_t i = 0; i < 24; ++i)
      EXPECT_EQ(std::isnan(ToVector(results[0])[i]), std::isnan(ToVector(expected[0])[i])) << i;
  }
}

TEST(OnednnOperators, SoftmaxOfNoNumbers) {
  for (const int64_t axis : {0, 1, 2}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {4, 300, 3}).Output("y", ElementType::kFloat, {4, 300, 3});
    Int(model.Node("Softmax", {"x"}, {"y"}), "axis", axis);
    ExpectTheSameNumbers(model, WithNoNumbers({4, 300, 3}), 0);
    ExpectTheSameNumbers(model, RandomTensor({4, 300, 3}, 2), 0);
  }
}

TEST(OnednnOperators, LargestOfInfinities) {
  for (const int64_t channels : {3, 16}) {
    for (const char* op : {"MaxPool", "GlobalMaxPool"}) {
      for (const bool behind_convolution : {false, true}) {
        SCOPED_TRACE(::testing::Message() << op << " of " << channels << " channels"
                                          << (behind_convolution ? " behind a convolution" : ""));
        ModelBuilder model;
        model.Input("x", ElementType::kFloat, {1, channels, 5, 9}).Output("y", ElementType::kFloat, {-1, -1, -1, -1});
        if (behind_convolution) {
          model.Floats("w", {channels, 1, 1, 1}, std::vector<float>(static_cast<size_t>(channels), 2.0f));
          Int(model.Node("Conv", {"x", "w"}, {"c"}), "group", channels);
        }
        auto& pool = model.Node(op, {behind_convolution ? "c" : "x"}, {"y"});
        if (std::string_view(op) == "MaxPool") {
          Ints(pool, "kernel_shape", {3, 2});
          Ints(pool, "strides", {2, 3});
          Ints(pool, "pads", {1, 0, 1, 1});
          Ints(pool, "dilations", {1, 2});
        }
        ExpectTheSameNumbers(
            model, Tensor::Of<float>({1, channels, 5, 9}, std::vector<float>(static_cast<size_t>(channels * 45),
                                                                             -std::numeric_limits<float>::infinity())));
        ExpectTheSameNumbers(model, RandomTensor({1, channels, 5, 9}, 2));
      }
    }
  }
}

TEST(OnednnOperators, KernelsOfOneHaveNothingToDilate) {
  for (const char* op : {"AveragePool", "MaxPool"}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 2, 4, 6}).Output("y", ElementType::kFloat, {1, 2, 4, 5});
    auto& pool = model.Node(op, {"x"}, {"y"});
    Ints(pool, "kernel_shape", {1, 2});
    Ints(pool, "dilations", {2, 1});
    ExpectTheSameNumbers(model, RandomTensor({1, 2, 4, 6}, 5));
  }
}

TEST(OnednnOperators, ScaleAndShiftThatBroadcast) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{4}, {3, 1}, {1, 4}, {3, 4}, {2, 3, 4}, {1, 3, 4}, {1}}) {
    for (const bool known : {true, false}) {
      SCOPED_TRACE(::testing::Message() << dims.size() << " dimensions from " << dims[0]
                                        << (known ? "" : ", of an input of unknown sizes"));
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, known ? std::vector<int64_t>{2, 3, 4} : std::vector<int64_t>{-1, -1, -1})
          .Output("y", ElementType::kFloat, {-1, -1, -1});
      model.Floats("s", dims, Random(static_cast<size_t>(Shape(dims).num_elements()), 3));
      Int(model.Node("LayerNormalization", {"x", "s", "s"}, {"y"}), "axis", 1);
      ExpectTheSameNumbers(model, RandomTensor({2, 3, 4}, 4), 0);
    }
  }
}

TEST(OnednnOperators, SlopesOfEveryShape) {
  for (const std::vector<int64_t>& slope : {std::vector<int64_t>{1}, {6, 1, 1}, {2, 6, 4, 5}, {5}, {1, 1, 4, 1}}) {
    SCOPED_TRACE(::testing::Message() << slope.size() << " dimensions from " << slope[0]);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 6, 4, 5}).Output("y", ElementType::kFloat, {2, 6, 4, 5});
    model.Floats("s", slope, Random(static_cast<size_t>(Shape(slope).num_elements()), 3));
    model.Node("PRelu", {"x", "s"}, {"y"});
    ExpectOnOnednn(model, {RandomTensor({2, 6, 4, 5}, 4)});
  }
}

struct ResizeCase {
  const char *mode, *positions, *rounding;
  std::vector<float> scales;
  std::vector<int64_t> sizes;
  bool takes;
};

TEST(OnednnOperators, Resizing) {
  const ResizeCase cases[] = {{"nearest", "asymmetric", "floor", {1, 1, 2, 3}, {}, true},
                              {"nearest", "half_pixel", "round_prefer_ceil", {1, 1, 3, 2}, {}, true},
                              {"nearest", "half_pixel", "round_prefer_floor", {}, {2, 3, 12, 8}, true},
                              {"nearest", "asymmetric", "ceil", {1, 1, 2, 2}, {}, false},
                              {"nearest", "half_pixel", "round_prefer_floor", {1, 1, 0.5f, 0.5f}, {}, false},
                              {"linear", "half_pixel", "floor", {1, 1, 2, 2}, {}, false},
                              {"linear", "half_pixel", "floor", {}, {2, 3, 12, 8}, false},
                              {"linear", "align_corners", "floor", {1, 1, 2, 2}, {}, false},
                              {"cubic", "half_pixel", "floor", {1, 1, 2, 2}, {}, false},
                              {"nearest", "asymmetric", "floor", {1, 2, 2, 2}, {}, false}};
  for (const ResizeCase& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.mode << " " << c.positions << " " << c.rounding << ", by "
                                      << (c.scales.empty() ? "sizes" : "scales"));
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 3, 6, 4}).Output("y", ElementType::kFloat, {-1, -1, -1, -1});
    if (!c.scales.empty()) model.Floats("scales", {4}, c.scales);
    if (!c.sizes.empty()) model.Ints("sizes", c.sizes);
    auto& node = c.scales.empty() ? model.Node("Resize", {"x", "", "", "sizes"}, {"y"})
                                  : model.Node("Resize", {"x", "", "scales"}, {"y"});
    Text(node, "mode", c.mode);
    Text(node, "coordinate_transformation_mode", c.positions);
    Text(node, "nearest_mode", c.rounding);
    ExpectOnOnednn(model, {RandomTensor({2, 3, 6, 4}, 4)}, c.takes);
  }
}

TEST(OnednnOperators, Normalizations) {
  for (const int64_t axis : {-1, 1}) {
    for (const bool shifts : {true, false}) {
      SCOPED_TRACE(::testing::Message() << "axis " << axis << ", shift " << shifts);
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {2, 5, 12}).Output("y", ElementType::kFloat, {2, 5, 12});
      const std::vector<int64_t> dims = axis == -1 ? std::vector<int64_t>{12} : std::vector<int64_t>{5, 12};
      for (const char* name : {"scale", "shift"})
        model.Floats(name, dims, Random(static_cast<size_t>(Shape(dims).num_elements()), 3));
      Int(model.Node("LayerNormalization", {"x", "scale", shifts ? "shift" : ""}, {"y"}), "axis", axis);
      ExpectOnOnednn(model, {RandomTensor({2, 5, 12}, 4)});
    }
  }
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 5, 6, 7}).Output("y", ElementType::kFloat, {2, 5, 6, 7});
  for (const char* name : {"scale", "shift"}) Weights(model, name, {5});
  model.Node("InstanceNormalization", {"x", "scale", "shift"}, {"y"});
  ExpectOnOnednn(model, {RandomTensor({2, 5, 6, 7}, 4)});
}

/// Of images, sequences, rows and volumes.
TEST(OnednnOperators, GroupNormalizations) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2, 6, 4, 5}, {3, 6, 7}, {2, 6}, {1, 6, 2, 3, 2}}) {
    for (const int64_t groups : {1, 3, 6}) {
      SCOPED_TRACE(::testing::Message() << dims.size() << " dimensions in " << groups << " groups");
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, dims).Output("y", ElementType::kFloat, dims);
      for (const char* name : {"scale", "shift"}) Weights(model, name, {6});
      Int(model.Node("GroupNormalization", {"x", "scale", "shift"}, {"y"}), "num_groups", groups);
      ExpectOnOnednn(model, {RandomTensor(Shape(dims), 4)});
    }
  }
}

/// Scales for a tensor, for each index of an axis and for each block along it, of elements in rows and as a convolution
/// leaves them.
TEST(OnednnOperators, Quantizers) {
  struct Scales {
    std::vector<int64_t> dims;
    int64_t axis, block;
  };
  for (const Scales& by : {Scales{{}, 1, 0},
                           {{1}, 1, 0},
                           {{2}, 0, 0},
                           {{16}, 1, 0},
                           {{16}, -3, 0},
                           {{4}, 2, 0},
                           {{5}, -1, 0},
                           {{2, 8, 4, 5}, 1, 2},
                           {{2, 16, 4, 2}, 3, 3}}) {
    for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8}) {
      for (const bool has_zero : {true, false}) {
        for (const bool of_image : {true, false}) {
          if (!has_zero && type == ElementType::kInt8) continue;  // the type is the zero point's
          SCOPED_TRACE(::testing::Message() << by.dims.size() << " dimensions along " << by.axis << " in blocks of "
                                            << by.block << ", quantized values of type " << static_cast<int>(type)
                                            << ", zero point " << has_zero << ", after a convolution " << of_image);
          ModelBuilder model;
          model.Input("x", ElementType::kFloat, {2, 16, 4, 5}).Output("y", ElementType::kFloat, {2, 16, 4, 5});
          const auto count = static_cast<size_t>(Shape(by.dims).num_elements());
          model.Floats("s", by.dims, Random(count, 3, 0.01f, 0.05f));
          std::vector<int> zeros;
          for (size_t i = 0; i < count; ++i) zeros.push_back(static_cast<int>(i % 7));
          model.Quantized("z", type, by.dims, zeros);
          Weights(model, "w", {16, 16, 3, 3}, -0.1f, 0.1f);
          if (of_image) Ints(model.Node("Conv", {"x", "w"}, {"c"}), "pads", {1, 1, 1, 1});
          const std::vector<std::string> parameters =
              has_zero ? std::vector<std::string>{"s", "z"} : std::vector<std::string>{"s"};
          const auto add = [&](const char* op, const char* from, const char* to) {
            std::vector<std::string> inputs = {from};
            inputs.insert(inputs.end(), parameters.begin(), parameters.end());
            auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), op, inputs, {to});
            Int(node, "axis", by.axis);
            if (by.block != 0) Int(node, "block_size", by.block);
          };
          add("QuantizeLinear", of_image ? "c" : "x", "q");
          add("DequantizeLinear", "q", "y");
          ExpectOnOnednn(model, {RandomTensor({2, 16, 4, 5}, 4)}, true, of_image ? 0.06f : 0.0f);
        }
      }
    }
  }
}

/// Quotients that are rounded to halves first.
TEST(OnednnOperators, QuantizersOfOtherPrecisionAreLeft) {
  ModelBuilder model(23);
  model.Input("x", ElementType::kFloat, {64}).Output("y", ElementType::kUInt8, {64});
  model.Floats("s", {}, {0.01f}).Quantized("z", ElementType::kUInt8, {}, {128});
  Int(model.Node("QuantizeLinear", {"x", "s", "z"}, {"y"}), "precision", static_cast<int64_t>(ElementType::kFloat16));
  EXPECT_EQ(model.Session(OnProvider("dnnl")).placement().nodes[0].provider, "CPUExecutionProvider");
}

}  // namespace
}  // namespace tessera::testing
