// Applications load and run models on threads whose stacks are smaller than a main thread's: of 128 KiB with musl, and of
// less where they say so.

#include <gmock/gmock.h>

#include <string>

#include "attributes.h"
#include "base/sanitizers.h"
#include "error_of.h"
#include "model_builder.h"
#include "on_stack_of.h"
#include "waves.h"

namespace tessera {
namespace {

using testing::ModelBuilder;
using testing::OnStackOf;
using testing::Waves;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStack = size_t{512} << 10;  // a sanitizer's frames are several times as large
#else
constexpr size_t kStack = size_t{64} << 10;
#endif

/// Loaded, run and unloaded on a small stack, the model gives what it gives here.
void ExpectTheSame(const ModelBuilder& model, const std::vector<Value>& inputs) {
  SessionOptions options;
  options.intra_op_threads = 1;
  std::vector<Value> expected(1), given(1);
  model.Session(options).Run(inputs, expected);
  std::string error;
  OnStackOf(kStack, [&] {
    try {
      const Session session = model.Session(options);
      for (int run = 0; run < 2; ++run) session.Run(inputs, given);
    } catch (const std::exception& caught) {
      error = caught.what();
    }
  });
  ASSERT_EQ(error, "");
  EXPECT_EQ(testing::ToVector(given[0]), testing::ToVector(expected[0]));
}

/// A matmul of 300 x 400 x 500, whose operands come as `a` and `b` or as inputs where they are empty.
ModelBuilder MatMul(bool constant, bool transposed) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, transposed ? std::vector<int64_t>{400, 300} : std::vector<int64_t>{300, 400});
  if (constant) {
    model.Floats("b", {400, 500}, Waves(400 * 500, 0.3f, 1));
  } else {
    model.Input("b", ElementType::kFloat, {400, 500});
  }
  model.Output("y", ElementType::kFloat, {300, 500});
  testing::Int(model.Node("Gemm", {"a", "b"}, {"y"}), "transA", transposed ? 1 : 0);
  return model;
}

TEST(SmallStack, HoldsMatMuls) {
  for (const bool constant : {false, true}) {
    for (const bool transposed : {false, true}) {
      std::vector<Value> inputs;
      inputs.push_back(Tensor::Of<float>(transposed ? Shape{400, 300} : Shape{300, 400}, Waves(300 * 400, 0.7f, 1)));
      if (!constant) inputs.push_back(Tensor::Of<float>(Shape{400, 500}, Waves(400 * 500, 0.3f, 1)));
      ExpectTheSame(MatMul(constant, transposed), inputs);
    }
  }
}

TEST(SmallStack, HoldsConvolutions) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 3, 64, 64});
  model.Floats("v", {64, 3, 5, 5}, Waves(64 * 75, 0.3f, 0.1f))
      .Floats("w", {64, 64, 7, 7}, Waves(64 * 64 * 49, 0.7f, 0.02f));
  model.Node("Conv", {"x", "v"}, {"h"});
  model.Node("Conv", {"h", "w"}, {"y"});
  model.Output("y", ElementType::kFloat, {1, 64, 54, 54});
  const std::vector<Value> inputs = {Tensor::Of<float>(Shape{1, 3, 64, 64}, Waves(3 * 64 * 64, 0.1f, 1))};
  ExpectTheSame(model, inputs);
}

/// Initializers and nodes of a network that is built layer by layer.
class Network {
 public:
  explicit Network(int64_t channels) : channels_(channels) {}

  ModelBuilder& model() { return model_; }
  const std::string& value() const { return value_; }
  int64_t channels() const { return channels_; }

  std::string Weights(const std::vector<int64_t>& dims, float scale) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    const std::string name = Name("w");
    model_.Floats(name, dims, Waves(count, 0.37f, scale));
    return name;
  }
  std::string Scalar(const std::string& prefix, float number) {
    const std::string name = Name(prefix);
    model_.Floats(name, {}, {number});
    return name;
  }
  onnx::NodeProto& Then(const std::string& op, const std::vector<std::string>& others = {}, int outputs = 1) {
    std::vector<std::string> inputs = {value_}, results;
    inputs.insert(inputs.end(), others.begin(), others.end());
    for (int i = 0; i < outputs; ++i) results.push_back(Name("v"));
    value_ = results[0];
    return ModelBuilder::AddNode(*model_.proto().mutable_graph(), op, inputs, results);
  }
  void Conv(int64_t filters, int64_t kernel, int64_t group, int64_t stride) {
    auto& node = Then("Conv", {Weights({filters, channels_ / group, kernel, kernel}, 0.2f), Weights({filters}, 0.1f)});
    testing::Int(node, "group", group);
    testing::Ints(node, "strides", {stride, stride});
    testing::Ints(node, "pads", {kernel / 2, kernel / 2, kernel / 2, kernel / 2});
    channels_ = filters;
  }
  /// To bytes and back, as quantized models have it around each operator.
  void Quantize(float scale) {
    const std::string of_scale = Scalar("s", scale), zero = Name("z");
    const uint8_t middle[] = {128};
    model_.Constant(zero, {}, std::span<const uint8_t>(middle));
    Then("QuantizeLinear", {of_scale, zero});
    Then("DequantizeLinear", {of_scale, zero});
  }
  /// Weights as signed bytes, with one scale.
  std::string QuantizedWeights(const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::vector<int> quantized;
    for (int64_t i = 0; i < count; ++i) quantized.push_back(static_cast<int>(i * 29 % 255) - 127);
    const std::string name = Name("q"), result = Name("w"), zero = Name("z");
    model_.Quantized(name, ElementType::kInt8, dims, quantized).Quantized(zero, ElementType::kInt8, {}, {0});
    ModelBuilder::AddNode(*model_.proto().mutable_graph(), "DequantizeLinear", {name, Scalar("s", 0.003f), zero}, {result});
    return result;
  }
  void QuantizedConv(int64_t filters, int64_t kernel, int64_t group, int64_t stride) {
    auto& node = Then("Conv", {QuantizedWeights({filters, channels_ / group, kernel, kernel})});
    testing::Int(node, "group", group);
    testing::Ints(node, "strides", {stride, stride});
    testing::Ints(node, "pads", {kernel / 2, kernel / 2, kernel / 2, kernel / 2});
    channels_ = filters;
  }
  ModelBuilder& Finish(const std::vector<int64_t>& dims) {
    ModelBuilder::AddNode(*model_.proto().mutable_graph(), "Identity", {value_}, {"y"});
    model_.Output("y", ElementType::kFloat, dims);
    return model_;
  }

 private:
  std::string Name(const std::string& prefix) { return prefix + std::to_string(names_++); }

  ModelBuilder model_;
  std::string value_ = "x";
  int64_t channels_;
  int names_ = 0;
};

std::vector<Value> Image(int64_t size) {
  std::vector<Value> inputs;
  inputs.push_back(Tensor::Of<float>(Shape{1, 3, size, size}, Waves(3 * size * size, 0.11f, 1)));
  return inputs;
}

TEST(SmallStack, HoldsAConvolutionNet) {
  Network net(3);
  net.model().Input("x", ElementType::kFloat, {1, 3, 64, 64});
  net.Conv(32, 3, 1, 2);
  net.Then("Relu");
  for (const int64_t kernel : {3, 5}) {
    net.Conv(32, kernel, 32, 1);
    net.Then("BatchNormalization",
             {net.Weights({32}, 1), net.Weights({32}, 1), net.Weights({32}, 0.1f), net.Weights({32}, 0)});
    net.Then("HardSwish");
    net.Conv(48, 1, 1, 1);
    net.Conv(32, 3, 1, 1);
    net.Then("Relu");
  }
  testing::Ints(testing::Ints(net.Then("MaxPool"), "kernel_shape", {3, 3}), "strides", {2, 2});
  net.Conv(64, 3, 4, 1);
  net.Then("Sigmoid");
  net.Then("GlobalAveragePool");
  net.Then("Flatten");
  net.Then("Gemm", {net.Weights({64, 1000}, 0.1f), net.Weights({1000}, 0.1f)});
  net.Then("Softmax");
  ExpectTheSame(net.Finish({1, 1000}), Image(64));
}

TEST(SmallStack, HoldsAQuantizedConvolutionNet) {
  Network net(3);
  net.model().Input("x", ElementType::kFloat, {1, 3, 64, 64});
  net.Quantize(0.01f);
  net.QuantizedConv(32, 3, 1, 2);
  net.Quantize(0.02f);
  net.QuantizedConv(32, 3, 32, 1);
  net.Quantize(0.02f);
  net.QuantizedConv(64, 1, 1, 1);
  net.Quantize(0.05f);
  net.QuantizedConv(64, 5, 1, 1);
  net.Quantize(0.3f);
  net.Then("GlobalAveragePool");
  net.Quantize(0.3f);
  net.Then("Flatten");
  net.Then("MatMul", {net.QuantizedWeights({64, 500})});
  ExpectTheSame(net.Finish({1, 500}), Image(64));
}

constexpr int64_t kTokens = 48, kWidth = 64, kHeads = 4;

/// `heads` of x times weights, [1, heads, tokens, width of a head].
std::string Heads(Network& net, const std::string& from, const std::string& weights,
                  const std::vector<int64_t>& permutation) {
  auto& graph = *net.model().proto().mutable_graph();
  const std::string stem = weights + "_of";
  net.model().Ints(stem + "_shape", {1, kTokens, kHeads, kWidth / kHeads});
  ModelBuilder::AddNode(graph, "MatMul", {from, weights}, {stem + "_p"});
  ModelBuilder::AddNode(graph, "Reshape", {stem + "_p", stem + "_shape"}, {stem + "_r"});
  testing::Ints(ModelBuilder::AddNode(graph, "Transpose", {stem + "_r"}, {stem}), "perm", permutation);
  return stem;
}

/// An encoder's layer; `weights(rows, columns)` adds a constant matrix.
template <class Weights>
void Layer(Network& net, const Weights& weights) {
  auto& graph = *net.model().proto().mutable_graph();
  const std::string skip = net.value();
  net.Then("LayerNormalization", {net.Weights({kWidth}, 1), net.Weights({kWidth}, 0.1f)});
  const std::string normal = net.value();
  const std::string q = Heads(net, normal, weights(kWidth, kWidth), {0, 2, 1, 3}),
                    k = Heads(net, normal, weights(kWidth, kWidth), {0, 2, 3, 1});
  const std::string v = Heads(net, normal, weights(kWidth, kWidth), {0, 2, 1, 3}), stem = v + "_attention";
  net.model().Ints(stem + "_shape", {1, kTokens, kWidth});
  ModelBuilder::AddNode(graph, "MatMul", {q, k}, {stem + "_s"});
  ModelBuilder::AddNode(graph, "Div", {stem + "_s", net.Scalar("d", 4)}, {stem + "_d"});
  testing::Int(ModelBuilder::AddNode(graph, "Softmax", {stem + "_d"}, {stem + "_e"}), "axis", -1);
  ModelBuilder::AddNode(graph, "MatMul", {stem + "_e", v}, {stem + "_c"});
  testing::Ints(ModelBuilder::AddNode(graph, "Transpose", {stem + "_c"}, {stem + "_t"}), "perm", {0, 2, 1, 3});
  ModelBuilder::AddNode(graph, "Reshape", {stem + "_t", stem + "_shape"}, {stem + "_r"});
  ModelBuilder::AddNode(graph, "MatMul", {stem + "_r", weights(kWidth, kWidth)}, {stem + "_o"});
  ModelBuilder::AddNode(graph, "Add", {stem + "_o", skip}, {stem});
  net.Then("Identity");
  graph.mutable_node(graph.node_size() - 1)->set_input(0, stem);
  net.Then("MatMul", {weights(kWidth, 4 * kWidth)});
  net.Then("Gelu");
  net.Then("MatMul", {weights(4 * kWidth, kWidth)});
  net.Then("Add", {stem});
}

std::vector<Value> Tokens() {
  std::vector<Value> inputs;
  inputs.push_back(Tensor::Of<float>(Shape{1, kTokens, kWidth}, Waves(kTokens * kWidth, 0.23f, 1)));
  return inputs;
}

TEST(SmallStack, HoldsATransformer) {
  Network net(0);
  net.model().Input("x", ElementType::kFloat, {1, kTokens, kWidth});
  for (int layer = 0; layer < 2; ++layer) {
    Layer(net, [&](int64_t rows, int64_t columns) { return net.Weights({rows, columns}, 0.1f); });
  }
  ExpectTheSame(net.Finish({1, kTokens, kWidth}), Tokens());
}

TEST(SmallStack, HoldsAQuantizedTransformer) {
  Network net(0);
  net.model().Input("x", ElementType::kFloat, {1, kTokens, kWidth});
  net.Quantize(0.02f);
  for (int layer = 0; layer < 2; ++layer) {
    Layer(net, [&](int64_t rows, int64_t columns) { return net.QuantizedWeights({rows, columns}); });
    net.Quantize(0.05f);
  }
  ExpectTheSame(net.Finish({1, kTokens, kWidth}), Tokens());
}

/// Of few and of many rows, by weights of four bits.
TEST(SmallStack, HoldsMatMulsWithNBits) {
  for (const int64_t rows : {1, 300}) {
    constexpr int64_t kDepth = 512, kColumns = 96, kBlock = 32;
    ModelBuilder model;
    auto* import = model.proto().add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
    std::vector<uint8_t> quantized;
    for (int64_t i = 0; i < kColumns * kDepth / 2; ++i) quantized.push_back(static_cast<uint8_t>(i * 37));
    model.Input("x", ElementType::kFloat, {rows, kDepth}).Output("y", ElementType::kFloat, {rows, kColumns});
    model.Constant("b", {kColumns, kDepth / kBlock, kBlock / 2}, std::span<const uint8_t>(quantized));
    model.Floats("s", {kColumns * kDepth / kBlock}, Waves(kColumns * kDepth / kBlock, 0.7f, 0.1f));
    for (const int64_t accuracy : {0, 4}) {
      ModelBuilder one = model;
      auto& node = one.Node("MatMulNBits", {"x", "b", "s"}, {"y"});
      node.set_domain("com.microsoft");
      for (const auto& [name, value] : {std::pair{"K", kDepth}, std::pair{"N", kColumns}, std::pair{"bits", int64_t{4}},
                                        std::pair{"block_size", kBlock}, std::pair{"accuracy_level", accuracy}}) {
        testing::Int(node, name, value);
      }
      std::vector<Value> inputs;
      inputs.push_back(Tensor::Of<float>(Shape{rows, kDepth}, Waves(rows * kDepth, 0.3f, 1)));
      ExpectTheSame(one, inputs);
    }
  }
}

TEST(SmallStack, HoldsReductionsAndSorts) {
  for (const char* op : {"ReduceMax", "ReduceSum", "CumSum", "TopK", "Unique", "Mean"}) {
    SCOPED_TRACE(op);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {40, 3000}).AnyOutput("y", ElementType::kFloat);
    const std::string name = op;
    model.Ints("axes", {0}).Ints("k", {1500});
    if (name == "TopK") {
      model.Node(op, {"x", "k"}, {"y", "i"});
    } else if (name == "Mean") {
      model.Floats("m", {3000}, Waves(3000, 0.1f));
      model.Node(op, {"x", "m"}, {"y"});
    } else if (name == "Unique") {
      model.Node(op, {"x"}, {"y"});
    } else {
      model.Node(op, {"x", "axes"}, {"y"});
    }
    std::vector<Value> inputs;
    inputs.push_back(Tensor::Of<float>(Shape{40, 3000}, Waves(120000, 0.013f, 1)));
    ExpectTheSame(model, inputs);
  }
}

/// An If in an If ...; the innermost graph doubles x.
onnx::GraphProto Nest(int depth) {
  onnx::GraphProto graph;
  const std::string result = "r" + std::to_string(depth);
  graph.set_name("g" + std::to_string(depth));
  if (depth == 0) {
    ModelBuilder::AddNode(graph, "Add", {"x", "x"}, {result});
  } else {
    auto& node = ModelBuilder::AddNode(graph, "If", {"c"}, {result});
    for (const char* branch : {"then_branch", "else_branch"}) {
      auto* attribute = node.add_attribute();
      attribute->set_name(branch);
      attribute->set_type(onnx::AttributeProto::GRAPH);
      *attribute->mutable_g() = Nest(branch[0] == 't' ? depth - 1 : 0);
    }
  }
  ModelBuilder::Declare(graph.add_output(), result, ElementType::kFloat, {4});
  return graph;
}

/// `depth` graphs, one in another.
ModelBuilder NestedModel(int depth) {
  ModelBuilder model;
  model.Input("c", ElementType::kBool, {}).Input("x", ElementType::kFloat, {4});
  *model.proto().mutable_graph()->mutable_node() = Nest(depth).node();
  model.Output("r" + std::to_string(depth), ElementType::kFloat, {4});
  return model;
}

TEST(SmallStack, EndsWithAnErrorWhereGraphsNestTooDeep) {
  const ModelBuilder model = NestedModel(30);
  const bool yes[] = {true};
  std::vector<Value> inputs, results(1);
  inputs.push_back(Tensor::Of<bool>(Shape{}, yes));
  inputs.push_back(testing::Floats({4}, {1, 2, 3, 4}));
  std::string small, large;
  OnStackOf(size_t{64} << 10, [&] {
    small = testing::ErrorOf([&] {
      const Session session = model.Session();
      session.Run(inputs, results);
    });
  });
  EXPECT_THAT(small, ::testing::HasSubstr("run it on a thread with a larger stack"));
  OnStackOf(size_t{1} << 20, [&] { large = testing::ErrorOf([&] { model.Session().Run(inputs, results); }); });
  EXPECT_EQ(large, "no error");
  EXPECT_EQ(testing::ToVector(results[0]), std::vector<float>({2, 4, 6, 8}));
}

/// f0 calls f1, which calls f2, ...
ModelBuilder Calls(int depth, bool back) {
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("calls");
  import->set_version(1);
  for (int i = 0; i < depth; ++i) {
    auto& function = *model.proto().add_functions();
    function.set_name("f" + std::to_string(i));
    function.set_domain("calls");
    function.add_input("x");
    function.add_output("y");
    for (const char* domain : {"", "calls"}) {
      auto* used = function.add_opset_import();
      used->set_domain(domain);
      used->set_version(domain[0] == 0 ? 21 : 1);
    }
    auto& node = *function.add_node();
    const bool last = i + 1 == depth && !back;
    node.set_op_type(last ? "Neg" : "f" + std::to_string((i + 1) % depth));
    if (!last) node.set_domain("calls");
    node.add_input("x");
    node.add_output("y");
  }
  model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
  model.Node("f0", {"x"}, {"y"}).set_domain("calls");
  return model;
}

TEST(SmallStack, HoldsFunctionsThatCallEachOther) {
  std::vector<Value> inputs;
  inputs.push_back(testing::Floats({4}, {1, 2, 3, 4}));
  ExpectTheSame(Calls(400, false), inputs);
  std::string deep, endless;
  OnStackOf(kStack, [&] {
    deep = testing::ErrorOf([] { Calls(1200, false).Session(); });
    endless = testing::ErrorOf([] { Calls(900, true).Session(); });
  });
  EXPECT_THAT(deep, ::testing::HasSubstr("functions call each other more than 1000 deep"));
  EXPECT_THAT(endless, ::testing::HasSubstr("calls itself, directly or through others"));
}

/// f1 has f0 in a branch of an If, f2 has f1, ...: no nested messages, but nested graphs.
ModelBuilder NestedByCalls(int depth) {
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("calls");
  import->set_version(1);
  for (int i = 0; i <= depth; ++i) {
    auto& function = *model.proto().add_functions();
    function.set_name("f" + std::to_string(i));
    function.set_domain("calls");
    for (const char* input : {"x", "c"}) function.add_input(input);
    function.add_output("y");
    for (const auto& used : model.proto().opset_import()) *function.add_opset_import() = used;
    auto& node = *function.add_node();
    node.add_output("y");
    if (i == 0) {
      node.set_op_type("Neg");
      node.add_input("x");
      continue;
    }
    node.set_op_type("If");
    node.add_input("c");
    for (const char* branch : {"then_branch", "else_branch"}) {
      auto& attribute = *node.add_attribute();
      attribute.set_name(branch);
      attribute.set_type(onnx::AttributeProto::GRAPH);
      auto& inner = *attribute.mutable_g()->add_node();
      const bool calls = std::string_view(branch) == "then_branch";
      inner.set_op_type(calls ? "f" + std::to_string(i - 1) : "Neg");
      if (calls) inner.set_domain("calls");
      inner.add_input("x");
      if (calls) inner.add_input("c");
      inner.add_output("z");
      attribute.mutable_g()->set_name(branch);
      attribute.mutable_g()->add_output()->set_name("z");
    }
  }
  model.Input("x", ElementType::kFloat, {4}).Input("c", ElementType::kBool, {}).Output("y", ElementType::kFloat, {4});
  model.Node("f" + std::to_string(depth), {"x", "c"}, {"y"}).set_domain("calls");
  return model;
}

TEST(SmallStack, HoldsGraphsThatFunctionsNest) {
  std::vector<Value> inputs;
  inputs.push_back(testing::Floats({4}, {1, 2, 3, 4}));
  constexpr bool kTrue[] = {true};
  inputs.push_back(Value(Tensor::Of<bool>(Shape{}, kTrue)));
  ExpectTheSame(NestedByCalls(8), inputs);
  for (const int depth : {150, 1400, 6000}) {
    std::string error;
    OnStackOf(kStack, [&] { error = testing::ErrorOf([&] { NestedByCalls(depth).Session(); }); });
    EXPECT_THAT(error, ::testing::HasSubstr("more than 100 deep")) << depth;
  }
}

/// An n-gram of 100,000 items: what holds it must not be as deep a stack.
TEST(SmallStack, HoldsLongNgrams) {
  constexpr int64_t kLength = 100'000;
  ModelBuilder model;
  model.Input("x", ElementType::kInt64, {4}).Output("y", ElementType::kFloat, {1});
  auto& node = model.Node("TfIdfVectorizer", {"x"}, {"y"});
  testing::Text(node, "mode", "TF");
  testing::Int(node, "min_gram_length", kLength);
  testing::Int(node, "max_gram_length", kLength);
  testing::Int(node, "max_skip_count", 0);
  std::vector<int64_t> counts(kLength, 0), pool;
  for (int64_t i = 0; i < kLength; ++i) pool.push_back(i);
  testing::Ints(node, "ngram_counts", counts);
  testing::Ints(node, "ngram_indexes", {0});
  testing::Ints(node, "pool_int64s", pool);
  std::vector<Value> inputs;
  const int64_t items[] = {1, 2, 3, 4};
  inputs.push_back(Tensor::Of<int64_t>(Shape{4}, items));
  ExpectTheSame(model, inputs);
}

}  // namespace
}  // namespace tessera
