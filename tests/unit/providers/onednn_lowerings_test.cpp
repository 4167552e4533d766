#include "error_of.h"
#include "providers/onednn_models.h"

namespace tessera::testing {
namespace {

TEST(OnednnLowerings, ResidualOfTheConvolutionsOwnInputIsNotOverwritten) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 16, 8, 8}).Output("y", ElementType::kFloat, {1, 16, 8, 8});
  Weights(model, "w", {16, 16, 1, 1});
  model.Node("Conv", {"x", "w"}, {"a"});
  model.Node("Conv", {"a", "w"}, {"b"});
  model.Node("Add", {"b", "a"}, {"y"});
  ExpectSameAsCpu(model, {RandomTensor({1, 16, 8, 8}, 1)});
}

TEST(OnednnLowerings, ResidualsInPlace) {
  // The sum's other operand: still needed later, an output, twice the same, or free.
  for (const char* last : {"later", "output", "free"}) {
    SCOPED_TRACE(last);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 16, 8, 8}).Output("y", ElementType::kFloat, {2, 16, 8, 8});
    Weights(model, "w", {16, 16, 1, 1});
    Weights(model, "v", {16, 16, 3, 3});
    model.Node("Conv", {"x", "w"}, {"a"});
    Ints(model.Node("Conv", {"x", "v"}, {"b"}), "pads", {1, 1, 1, 1});
    model.Node("Add", {"a", "b"}, {"c"});
    model.Node("Relu", {"c"}, {"d"});
    if (std::string_view(last) == "later") {
      model.Node("Mul", {"d", "a"}, {"y"});
    } else {
      model.Node("Relu", {"d"}, {"y"});
    }
    if (std::string_view(last) == "output") model.Output("a", ElementType::kFloat, {2, 16, 8, 8});
    ExpectSameAsCpu(model, {RandomTensor({2, 16, 8, 8}, 2)});
  }
}

/// Windows of which few taps are inside, in no more parts than their work asks for, or left to the CPU provider.
TEST(OnednnLowerings, AveragesOfHugeWindows) {
  for (const int64_t taps : {int64_t{1} << 12, int64_t{1} << 20}) {
    for (const int64_t channels : {1, 8}) {
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {1, channels, 4}).Output("y", ElementType::kFloat, {1, channels, taps + 2});
      auto& pool = model.Node("AveragePool", {"x"}, {"y"});
      Ints(pool, "kernel_shape", {taps});
      Ints(pool, "pads", {taps - 1, taps - 2});
      ExpectSameAsCpu(model, {RandomTensor({1, channels, 4}, 1)});
    }
  }
}

/// 3x3 convolutions large enough for Winograd's transform, with what their last step takes up and what it must leave.
TEST(OnednnLowerings, WinogradConvolutions) {
  const std::vector<std::vector<const char*>> followers = {{},
                                                           {"Relu"},
                                                           {"Add"},
                                                           {"Add", "Relu"},
                                                           {"Relu", "Add"},
                                                           {"HardSwish"},
                                                           {"Sigmoid", "Relu"},
                                                           {"Add", "Add", "LeakyRelu"},
                                                           {"BatchNormalization", "Relu"}};
  int number = 0;
  for (const auto& ops : followers) {
    for (const int threads : {1, 3}) {
      const int64_t top = number % 3, left = (number + 1) % 3, batch = 1 + number % 2;
      const int64_t height = 30 + number, width = 45 - number, dilation = 1 + number / 3 % 3;
      SCOPED_TRACE(number++);
      ModelBuilder model;
      const Shape residual_shape = {batch, 48, height + top - 1, width + left - 1};
      model.Input("x", ElementType::kFloat, {batch, 32, height, width});
      model.Input("residual", ElementType::kFloat, {batch, 48, height + top - 1, width + left - 1});
      model.Output("y", ElementType::kFloat, {batch, 48, height + top - 1, width + left - 1});
      model.Node("Abs", {"x"}, {"v0"});
      model.Node("Tanh", {"residual"}, {"r0"});
      Weights(model, "w", {48, 32, 3, 3});
      Weights(model, "b", {48});
      for (const char* name : {"scale", "variance"}) Weights(model, name, {48}, 0.5f, 1.5f);
      for (const char* name : {"shift", "mean"}) Weights(model, name, {48});
      auto& conv = model.Node("Conv", {"v0", "w", "b"}, {"v1"});
      Ints(conv, "pads", {top, left, 2 * dilation - 1, 2 * dilation - 1});
      Ints(conv, "dilations", {dilation, dilation});
      std::string last = "v1";
      for (const char* op : ops) {
        const std::string next = "v" + std::to_string(std::stoi(last.substr(1)) + 1);
        if (op == std::string_view("Add")) {
          model.Node(op, {last, "r0"}, {next});
        } else if (op == std::string_view("BatchNormalization")) {
          model.Node(op, {last, "scale", "shift", "mean", "variance"}, {next});
        } else {
          model.Node(op, {last}, {next});
        }
        last = next;
      }
      model.Node("Identity", {last}, {"y"});
      SessionOptions options = OnProvider("dnnl"), plain = OnProvider("cpu");
      options.intra_op_threads = threads;
      plain.optimization_level = OptimizationLevel::kNone;
      const std::vector<Value> inputs = {RandomTensor({batch, 32, height, width}, 1), RandomTensor(residual_shape, 2)};
      std::vector<Value> result(1), expected(1);
      const Session session = model.Session(options);
      session.Run(inputs, result);
      model.Session(plain).Run(inputs, expected);
      ExpectNear(ToVector(result[0]), ToVector(expected[0]));
      session.Run(inputs, result);
      ExpectNear(ToVector(result[0]), ToVector(expected[0]));
    }
  }
}

/// x * Sigmoid(x) alone, after a convolution and after Winograd's, with the Sigmoid needed elsewhere, then
/// squeeze-and-excitation: one factor a channel.
TEST(OnednnLowerings, SwishAndSqueezeAndExcitation) {
  for (const int64_t batch : {1, 2}) {
    for (const bool needed : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "batch " << batch << ", Sigmoid needed elsewhere: " << needed);
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {batch, 32, 28, 28}).Output("y", ElementType::kFloat, {batch, 32, 28, 28});
      Weights(model, "w1", {32, 32, 3, 3});
      Weights(model, "w2", {32, 32, 1, 1});
      Weights(model, "w3", {8, 32, 1, 1});
      Weights(model, "w4", {32, 8, 1, 1});
      model.Node("Sigmoid", {"x"}, {"sx"});
      model.Node("Mul", {"sx", "x"}, {"v1"});
      Ints(model.Node("Conv", {"v1", "w1"}, {"c1"}), "pads", {1, 1, 1, 1});
      model.Node("Sigmoid", {"c1"}, {"s1"});
      model.Node("Mul", {"c1", "s1"}, {"v2"});
      model.Node("Conv", {"v2", "w2"}, {"c2"});
      model.Node("Sigmoid", {"c2"}, {"s2"});
      model.Node("Mul", {"c2", "s2"}, {"v3"});
      model.Node("GlobalAveragePool", {"v3"}, {"g"});
      model.Node("Conv", {"g", "w3"}, {"e1"});
      model.Node("Relu", {"e1"}, {"e2"});
      model.Node("Conv", {"e2", "w4"}, {"e3"});
      model.Node("Sigmoid", {"e3"}, {"e4"});
      model.Node("Mul", {"e4", "v3"}, {"v4"});
      model.Node("Add", {"v4", needed ? "s2" : "x"}, {"y"});
      if (needed) model.Output("s1", ElementType::kFloat, {batch, 32, 28, 28});
      ExpectSameAsCpu(model, {RandomTensor({batch, 32, 28, 28}, 3)});
    }
  }
}

TEST(OnednnLowerings, ConcatInPlace) {
  // Blocked and unblocked channel counts, a nested Concat, an input twice, an input of the region, a part that is an
  // output.
  for (const int64_t batch : {1, 2}) {
    for (const int64_t channels : {8, 16, 5}) {
      SCOPED_TRACE(batch * 100 + channels);
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {batch, 8, 6, 6});
      for (const char* name : {"y", "z", "k2"}) model.Output(name, ElementType::kFloat, {-1, -1, -1, -1});
      Weights(model, "w", {channels, 8, 1, 1});
      Weights(model, "v", {8, 8, 1, 1});
      model.Node("Conv", {"x", "w"}, {"a"});
      model.Node("Conv", {"x", "v"}, {"b"});
      Int(model.Node("Concat", {"a", "b"}, {"k1"}), "axis", 1);
      Int(model.Node("Concat", {"k1", "b", "x", "a"}, {"k2"}), "axis", 1);
      model.Node("Relu", {"k2"}, {"y"});
      model.Node("GlobalMaxPool", {"k1"}, {"z"});
      ExpectSameAsCpu(model, {RandomTensor({batch, 8, 6, 6}, 3)});
    }
  }
}

TEST(OnednnLowerings, ConcatOfOneMadeInPlaceAndCopies) {
  // Parts that follow each other in memory, so that copies go behind an offset.
  for (const int64_t rows : {1, 3}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {rows, 4}).Output("y", ElementType::kFloat, {-1, -1});
    Weights(model, "w", {4, 4});
    Weights(model, "c", {2, 4});
    model.Node("MatMul", {"x", "w"}, {"a"});
    Int(model.Node("Concat", {"a", "c", "x", "a"}, {"y"}), "axis", 0);
    ExpectSameAsCpu(model, {RandomTensor({rows, 4}, 3)});
  }
}

TEST(OnednnLowerings, ChannelShuffle) {
  ModelBuilder model;
  const std::vector<int64_t> split = {0, 2, 12, 7, 5}, joined = {0, -1, 7, 5};
  model.Input("x", ElementType::kFloat, {2, 24, 7, 5}).Output("y", ElementType::kFloat, {2, 24, 7, 5});
  Weights(model, "w", {24, 12, 1, 1});
  model.Constant("split", {5}, std::span<const int64_t>(split));
  model.Constant("joined", {4}, std::span<const int64_t>(joined));
  Int(model.Node("Conv", {"x", "w"}, {"c"}), "group", 2);
  model.Node("Reshape", {"c", "split"}, {"s"});
  Ints(model.Node("Transpose", {"s"}, {"t"}), "perm", {0, 2, 1, 3, 4});
  model.Node("Reshape", {"t", "joined"}, {"j"});
  Int(model.Node("Conv", {"j", "w"}, {"y"}), "group", 2);
  const Session session = ExpectSameAsCpu(model, {RandomTensor({2, 24, 7, 5}, 4)});
  for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, "DnnlExecutionProvider") << node.op_type;
}

TEST(OnednnLowerings, TransposedConvolutions) {
  for (const int64_t group : {1, 2}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 8, 5, 6}).Output("y", ElementType::kFloat, {2, 6 * group, 10, 18});
    Weights(model, "w", {8, 6, 3, 4});
    Weights(model, "b", {6 * group});
    auto& node = model.Node("ConvTranspose", {"x", "w", "b"}, {"c"});
    Int(node, "group", group);
    Ints(node, "strides", {2, 3});
    Ints(node, "pads", {1, 1, 1, 0});
    Ints(node, "output_padding", {1, 0});
    model.Node("Relu", {"c"}, {"y"});
    const Session session = ExpectSameAsCpu(model, {RandomTensor({2, 8, 5, 6}, 6)});
    EXPECT_EQ(session.placement().nodes[0].provider, "DnnlExecutionProvider");
  }
}

/// Windows that neither meet nor leave gaps: sequences, images and volumes, with what follows.
TEST(OnednnLowerings, TransposedConvolutionsOfTiles) {
  for (const std::vector<int64_t>& kernel : {std::vector<int64_t>{3}, {2, 2}, {1, 4}, {2, 1, 3}}) {
    for (const bool with_bias : {true, false}) {
      SCOPED_TRACE(::testing::Message() << kernel.size() << " dimensions, bias " << with_bias);
      ModelBuilder model;
      std::vector<int64_t> in = {2, 24}, out = {2, 20}, weights = {24, 20};
      for (size_t i = 0; i < kernel.size(); ++i) {
        in.push_back(3 + static_cast<int64_t>(i));
        out.push_back(in.back() * kernel[i]);
        weights.push_back(kernel[i]);
      }
      model.Input("x", ElementType::kFloat, in).Input("r", ElementType::kFloat, out).Output("y", ElementType::kFloat, out);
      const auto values = Random(static_cast<size_t>(Shape(weights).num_elements()), 5, -0.5f, 0.5f);
      model.Constant("w", weights, std::span<const float>(values));
      Weights(model, "b", {20});
      Ints(model.Node("ConvTranspose", {"x", "w", with_bias ? "b" : ""}, {"c"}), "strides", kernel);
      model.Node("Relu", {"c"}, {"d"});
      model.Node("Add", {"d", "r"}, {"y"});
      ExpectSameAsCpu(model, {RandomTensor(Shape(in), 6), RandomTensor(Shape(out), 7)});
    }
  }
}

/// Descriptions of what is computed move while more is added: factors of channels at every number of memories before them.
TEST(OnednnLowerings, LongChainsOfBroadcasts) {
  for (int before = 0; before < 4; ++before) {
    SCOPED_TRACE(before);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 16, 4, 4})
        .Input("s", ElementType::kFloat, {1, 16, 1, 1})
        .Output("y", ElementType::kFloat, {1, 16, 4, 4});
    Weights(model, "w", {16, 16, 1, 1});
    std::string last = "x";
    int count = 0;
    const auto add = [&](const char* op, std::initializer_list<std::string> inputs) {
      const std::string next = "v" + std::to_string(count++);
      model.Node(op, inputs, {next});
      last = next;
    };
    for (int i = 0; i < before; ++i) add("Abs", {last});
    for (int i = 0; i < 24; ++i) {
      add("Mul", {"s", last});
      add("HardSigmoid", {last});
    }
    model.Node("Conv", {last, "w"}, {"y"});
    ExpectSameAsCpu(model, {RandomTensor({1, 16, 4, 4}, 1), RandomTensor({1, 16, 1, 1}, 2)});
  }
}

/// One function twice after a convolution, each time with parameters of its own.
TEST(OnednnLowerings, ChainsOfOneFunction) {
  for (const bool between : {false, true}) {
    for (const auto& [first, second] :
         {std::pair(0.1f, 0.0f), std::pair(0.0f, 0.1f), std::pair(0.1f, 0.3f), std::pair(0.1f, 0.1f)}) {
      for (const int64_t group : {1, 16}) {
        SCOPED_TRACE(::testing::Message() << first << ", " << second << ", " << group
                                          << " groups, sum between: " << between);
        ModelBuilder model;
        model.Input("x", ElementType::kFloat, {1, 16, 7, 7})
            .Input("r", ElementType::kFloat, {1, 16, 7, 7})
            .Output("y", ElementType::kFloat, {1, 16, 7, 7});
        Weights(model, "w", {16, 16 / group, 3, 3});
        auto& convolution = model.Node("Conv", {"x", "w"}, {"c"});
        Ints(convolution, "pads", {1, 1, 1, 1});
        Int(convolution, "group", group);
        Float(model.Node("LeakyRelu", {"c"}, {"a"}), "alpha", first);
        if (between) model.Node("Add", {"a", "r"}, {"s"});
        Float(model.Node("LeakyRelu", {between ? "s" : "a"}, {"y"}), "alpha", second);
        ExpectSameAsCpu(model, {RandomTensor({1, 16, 7, 7}, 4), RandomTensor({1, 16, 7, 7}, 5)});
      }
    }
  }
}

/// Squeeze-and-excitation with the gate of MobileNetV3, whose image stays as the convolutions lay it out.
TEST(OnednnLowerings, GatesOfHardSigmoid) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 16, 14, 14}).Output("y", ElementType::kFloat, {1, 24, 14, 14});
  Weights(model, "w1", {72, 16, 1, 1});
  Weights(model, "w2", {24, 72, 1, 1});
  Weights(model, "w3", {72, 24, 1, 1});
  Weights(model, "w4", {24, 72, 1, 1});
  model.Node("Conv", {"x", "w1"}, {"c"});
  model.Node("Relu", {"c"}, {"d"});
  model.Node("GlobalAveragePool", {"d"}, {"g"});
  model.Node("Conv", {"g", "w2"}, {"e1"});
  model.Node("Relu", {"e1"}, {"e2"});
  model.Node("Conv", {"e2", "w3"}, {"e3"});
  auto& gate = model.Node("HardSigmoid", {"e3"}, {"e4"});
  Float(gate, "alpha", 1.0f / 6);
  model.Node("Mul", {"e4", "d"}, {"f"});
  model.Node("Conv", {"f", "w4"}, {"y"});
  const Session session = ExpectSameAsCpu(model, {RandomTensor({1, 16, 14, 14}, 3)});
  for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, "DnnlExecutionProvider") << node.op_type;
}

/// Residuals whose lengths are known at run time only: branches that pad what their convolutions take away, or cut what
/// they pad too much, are seen to be as long as what they are added to.
TEST(OnednnLowerings, ResidualsOfUnknownLength) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 16, -1}).Output("y", ElementType::kFloat, {1, 16, -1});
  model.NameDim("x", 2, "length");
  Weights(model, "w", {16, 16, 3});
  Weights(model, "v", {16, 16, 3});
  Weights(model, "u", {16, 16, 1});
  const std::vector<int64_t> pads = {0, 0, 4, 0, 0, 0}, start = {0}, end = {-6}, axis = {2};
  model.Constant("pads", {6}, std::span<const int64_t>(pads));
  model.Constant("start", {1}, std::span<const int64_t>(start));
  model.Constant("end", {1}, std::span<const int64_t>(end));
  model.Constant("axis", {1}, std::span<const int64_t>(axis));
  model.Node("Pad", {"x", "pads"}, {"p"});
  Ints(model.Node("Conv", {"p", "w"}, {"a"}), "dilations", {2});
  model.Node("Relu", {"a"}, {"b"});
  model.Node("Add", {"b", "x"}, {"c"});
  auto& wide = model.Node("Conv", {"c", "v"}, {"d"});
  Ints(wide, "dilations", {3});
  Ints(wide, "pads", {6, 6});
  model.Node("Slice", {"d", "start", "end", "axis"}, {"e"});
  model.Node("Add", {"c", "e"}, {"f"});
  model.Node("Conv", {"f", "u"}, {"y"});
  for (const int64_t length : {1, 7, 40}) {
    const Session session = ExpectSameAsCpu(model, {RandomTensor({1, 16, length}, 3)});
    for (const auto& node : session.placement().nodes) {
      EXPECT_EQ(node.provider, node.op_type == "Slice" ? "CPUExecutionProvider" : "DnnlExecutionProvider") << node.op_type;
    }
  }
}

TEST(OnednnLowerings, ChannelScalesFoldIntoConvolutions) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 4, 6, 6})
      .Output("y", ElementType::kFloat, {1, 8, 6, 6})
      .Output("z", ElementType::kFloat, {1, 8, 6, 6});
  Weights(model, "w", {8, 4, 1, 1});
  for (const char* name : {"mul", "sub"}) Weights(model, name, {8, 1, 1}, 0.5f, 2);
  Weights(model, "div", {1}, 0.5f, 2);
  Weights(model, "row", {6});  // not one a channel
  model.Node("Conv", {"x", "w"}, {"c"});
  model.Node("Mul", {"mul", "c"}, {"m"});
  model.Node("Sub", {"sub", "m"}, {"s"});
  model.Node("Div", {"s", "div"}, {"d"});
  model.Node("Add", {"d", "row"}, {"y"});
  model.Node("Relu", {"y"}, {"r"});
  model.Node("Mul", {"r", "mul"}, {"q"});
  model.Node("Add", {"q", "sub"}, {"z"});
  ExpectSameAsCpu(model, {RandomTensor({1, 4, 6, 6}, 8)});
}

/// A cancelled run waits for no image: one that takes long is computed some rows at a time, or some channels.
TEST(OnednnLowerings, LongOperatorsOfOneImageInParts) {
  const auto expect_same = [](const ModelBuilder& model, const Tensor& x) {
    SessionOptions options = OnProvider("dnnl"), plain = OnProvider("cpu");
    options.intra_op_threads = 1;
    const std::vector<float> actual = RunOne(model.Session(options), x), expected = RunOne(model.Session(plain), x);
    ASSERT_EQ(actual.size(), expected.size());
    float most = 0;  // of millions of elements, which to assert one by one takes longer than to compute
    for (size_t i = 0; i < actual.size(); ++i)
      most = std::max(most, std::abs(actual[i] - expected[i]) / (1 + std::abs(expected[i])));
    EXPECT_LE(most, 1e-4f);
  };
  struct Case {
    Shape x;
    std::initializer_list<int64_t> w;
    std::vector<int64_t> strides, pads;
    int64_t group;
  };
  const Case cases[] = {{{1, 48, 90, 130}, {80, 48, 5, 5}, {1, 1}, {2, 2, 2, 2}, 1},
                        {{1, 32, 203, 170}, {64, 32, 7, 7}, {2, 1}, {3, 0, 1, 5}, 1},
                        {{1, 3, 300, 300}, {48, 3, 11, 11}, {1, 1}, {5, 5, 5, 5}, 1},
                        {{1, 64, 150, 150}, {64, 32, 6, 6}, {1, 1}, {0, 5, 5, 0}, 2},
                        {{1, 16, 20, 40, 40}, {32, 16, 3, 5, 5}, {1, 1, 1}, {1, 2, 2, 1, 2, 2}, 1}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.x.ToString());
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {c.x.begin(), c.x.end()});
    ModelBuilder::Declare(model.proto().mutable_graph()->add_output(), "y", ElementType::kFloat,
                          std::vector<int64_t>(c.x.rank(), -1));
    Weights(model, "w", c.w);
    Weights(model, "b", {*c.w.begin()});
    auto& node = model.Node("Conv", {"x", "w", "b"}, {"a"});
    Ints(node, "strides", c.strides);
    Ints(node, "pads", c.pads);
    Int(node, "group", c.group);
    model.Node("Relu", {"a"}, {"r"});
    model.Node("Neg", {"a"}, {"n"});
    model.Node("Add", {"r", "n"}, {"y"});
    expect_same(model, RandomTensor(c.x, 5));
  }
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const Shape& shape : {Shape{1, 64, 150, 150}, Shape{1, 3, 400, 400}}) {
      SCOPED_TRACE(op + shape.ToString());
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {shape.begin(), shape.end()});
      ModelBuilder::Declare(model.proto().mutable_graph()->add_output(), "y", ElementType::kFloat, {1, -1, -1, -1});
      auto& node = model.Node(op, {"x"}, {"y"});
      Ints(node, "kernel_shape", {11, 13});
      Ints(node, "pads", {5, 0, 3, 6});
      expect_same(model, RandomTensor(shape, 6));
    }
  }
}

TEST(OnednnLowerings, MatMulsOverNothingAreZero) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {2, -1})
      .Input("b", ElementType::kFloat, {-1, 3})
      .Output("y", ElementType::kFloat, {2, 3});
  model.Node("MatMul", {"a", "b"}, {"m"});
  model.Node("Sigmoid", {"m"}, {"y"});
  ExpectSameAsCpu(model, {Tensor(ElementType::kFloat, Shape{2, 0}), Tensor(ElementType::kFloat, Shape{0, 3})});
  ExpectSameAsCpu(model, {RandomTensor({2, 5}, 1), RandomTensor({5, 3}, 2)});
}

TEST(OnednnLowerings, GemmOfOtherRanksIsRefused) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {2, 4}).Input("b", ElementType::kFloat, {4}).Input("c", ElementType::kFloat, {3});
  model.Output("y", ElementType::kFloat, {2, 3});
  model.Node("Gemm", {"a", "b", "c"}, {"y"});
  const std::vector<Value> inputs = {RandomTensor({2, 4}, 1), RandomTensor({4}, 2), RandomTensor({3}, 3)};
  EXPECT_NE(ErrorOf([&] {
              std::vector<Value> results(1);
              model.Session(OnProvider("dnnl")).Run(inputs, results);
            }),
            "no error");
}

TEST(OnednnLowerings, RanksInsideRegionsAreWhatIsDeclared) {
  ModelBuilder model;  // Squeeze without axes: its rank depends on the sizes
  model.Input("x", ElementType::kFloat, {-1, -1, 4}).Output("y", ElementType::kFloat, {-1, 4});
  Weights(model, "w", {4, 4});
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("Squeeze", {"p"}, {"q"});
  model.Node("MatMul", {"q", "w"}, {"y"});
  ModelBuilder::Declare(model.proto().mutable_graph()->add_value_info(), "q", ElementType::kFloat, {-1, 4});
  const Session session = ExpectSameAsCpu(model, {RandomTensor({1, 3, 4}, 1)});
  std::vector<Value> results(1);
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 1, 4}}) {
    EXPECT_NE(
        ErrorOf([&] { session.Run(std::vector<Value>{RandomTensor(shape, 2)}, results); }).find("the model declares 2"),
        std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::testing
