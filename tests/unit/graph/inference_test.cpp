// Where inference of types and shapes is Tessera's, not onnx's.

#include <gmock/gmock.h>

#include "attributes.h"
#include "graph/graph.h"
#include "model_builder.h"
#include "optimizer/rewriting.h"
#include "providers/opencl_device.h"

namespace tessera::testing {
namespace {

/// "[2,?,8]" of a value, "?" where its shape is not known. A name is a question mark, too.
std::string ShapeIn(const Graph& graph, const std::string& name) {
  const auto& shape = graph.value(graph.FindValue(name)).type.shape;
  if (!shape) return "?";
  std::string text;
  for (const Dimension& dim : *shape) text += (text.empty() ? "" : ",") + (dim.known() ? std::to_string(dim.value) : "?");
  return "[" + text + "]";
}

/// Attention with all four outputs. An empty shape: of no declared shape.
ModelBuilder Attending(ElementType type, const std::vector<int64_t>& q, const std::vector<int64_t>& k,
                       const std::vector<int64_t>& v, bool has_past = false, const std::vector<int64_t>& past = {}) {
  ModelBuilder model(23);
  const auto input = [&](const char* name, const std::vector<int64_t>& dims) {
    model.Input(name, type, dims);
    auto* tensor = model.proto().mutable_graph()->mutable_input()->rbegin()->mutable_type()->mutable_tensor_type();
    if (dims.empty()) tensor->clear_shape();
  };
  input("q", q);
  input("k", k);
  input("v", v);
  if (has_past) {
    input("past_k", past);
    input("past_v", past);
  }
  for (const char* output : {"y", "nk", "nv", "scores"}) {
    model.Output(output, type, {});
    model.proto().mutable_graph()->mutable_output()->rbegin()->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  auto& node = has_past ? model.Node("Attention", {"q", "k", "v", "", "past_k", "past_v"}, {"y", "nk", "nv", "weights"})
                        : model.Node("Attention", {"q", "k", "v"}, {"y", "nk", "nv", "weights"});
  if (q.size() == 3 || k.size() == 3) {
    Int(node, "q_num_heads", 4);
    Int(node, "kv_num_heads", 2);
  }
  model.Node("Neg", {"weights"}, {"scores"});
  return model;
}

std::string ShapesOf(const ModelBuilder& model) {
  const Rewriting loaded(model, {"eliminate_dead_nodes"});
  std::string text;
  for (const char* name : {"y", "nk", "nv", "weights"}) text += (text.empty() ? "" : " ") + ShapeIn(loaded.graph(), name);
  return text;
}

TEST(Inference, SizesThatNoTensorHasAreForgotten) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  ModelBuilder model(18);
  model.Input("x", ElementType::kFloat, {kHuge, kHuge, 3}).Input("empty", ElementType::kFloat, {0, kHuge, 2});
  model.AnyOutput("y", ElementType::kFloat).AnyOutput("w", ElementType::kFloat);
  model.Node("Neg", {"x"}, {"y"});
  model.Node("Neg", {"empty"}, {"w"});
  const Rewriting loaded(model, {"eliminate_dead_nodes"});
  const std::string huge = std::to_string(kHuge);
  EXPECT_EQ(ShapeIn(loaded.graph(), "x"), "[" + huge + ",?,3]");
  EXPECT_EQ(ShapeIn(loaded.graph(), "y"), "[" + huge + ",?,3]");
  EXPECT_EQ(ShapeIn(loaded.graph(), "w"), "[0," + huge + ",2]");
}

/// Of these onnx infers nothing.
TEST(Inference, NormalizationsHaveTheirInputsShape) {
  for (const char* op : {"GroupNormalization", "MeanVarianceNormalization"}) {
    ModelBuilder model(21);
    model.Input("x", ElementType::kFloat, {2, 4, 3, 3})
        .Floats("scale", {4}, {1, 2, 3, 4})
        .Floats("bias", {4}, {0, 0, 0, 0});
    model.AnyOutput("y", ElementType::kFloat);
    const bool groups = std::string_view(op) == "GroupNormalization";
    if (groups) {
      Int(model.Node(op, {"x", "scale", "bias"}, {"n"}), "num_groups", 2);
    } else {
      model.Node(op, {"x"}, {"n"});
    }
    Ints(model.Node("AveragePool", {"n"}, {"y"}), "kernel_shape", {2, 2});
    const Session session = model.Session();
    ASSERT_TRUE(session.outputs()[0].type.shape.has_value()) << op;
    EXPECT_EQ(ToString(*session.outputs()[0].type.shape), "[2,4,2,2]") << op;
  }
}

TEST(Inference, AttentionOfOpenShapes) {
  constexpr ElementType kType = ElementType::kFloat;
  EXPECT_EQ(ShapesOf(Attending(kType, {2, 4, 5, 8}, {2, 2, 6, 8}, {2, 2, 6, 3})),
            "[2,4,5,3] [2,2,6,8] [2,2,6,3] [2,4,5,6]");
  EXPECT_EQ(ShapesOf(Attending(kType, {2, 4, 5, 8}, {2, 2, -1, 8}, {2, 2, -1, 3})),
            "[2,4,5,3] [2,2,?,8] [2,2,?,3] [2,4,5,?]");
  EXPECT_EQ(ShapesOf(Attending(kType, {2, 5, 32}, {2, -1, 16}, {2, -1, 6})), "[2,5,12] [2,2,?,8] [2,2,?,3] [2,4,5,?]");
  EXPECT_EQ(ShapesOf(Attending(kType, {-1, 5, 32}, {-1, 6, -1}, {-1, 6, -1})), "[?,5,?] [?,2,6,8] [?,2,6,?] [?,4,5,6]");
  EXPECT_EQ(ShapesOf(Attending(kType, {2, 4, 5, 8}, {}, {})), "[2,4,5,?] [2,?,?,8] [2,?,?,?] [2,4,5,?]");
  EXPECT_EQ(ShapesOf(Attending(kType, {}, {}, {})), "? [?,?,?,?] [?,?,?,?] [?,?,?,?]");
  EXPECT_EQ(ShapesOf(Attending(kType, {2, 4, 5, 8}, {2, 2, 6, 8}, {2, 2, 6, 8}, true, {2, 2, 3, 8})),
            "[2,4,5,8] [2,2,9,8] [2,2,9,8] [2,4,5,9]");
  EXPECT_EQ(ShapesOf(Attending(kType, {2, 4, 5, 8}, {2, 2, 6, 8}, {2, 2, 6, 8}, true, {2, 2, -1, 8})),
            "[2,4,5,8] [2,2,?,8] [2,2,?,8] [2,4,5,?]");
  EXPECT_EQ(ShapesOf(Attending(kType, {2, 4, 5, 8}, {2, 2, 6, 8}, {2, 2, 6, 8}, true, {})),
            "[2,4,5,8] [2,2,?,8] [2,2,?,8] [2,4,5,?]");
}

template <class T>
Value Some(const Shape& shape, float step) {
  std::vector<T> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) values.push_back(T(static_cast<float>(i % 7) * step));
  return Tensor::Of<T>(shape, values);
}

/// Of halves it is computed as float32 inside: what is made for that has the dimensions that the results have.
TEST(Inference, AttentionOfHalvesRunsAtOpenShapes) {
  for (const bool open : {false, true}) {
    for (const bool has_past : {false, true}) {
      const Shape q{1, 4, 3, 8}, k{1, 2, 5, 8}, past{1, 2, 2, 8};
      const auto dims = [&](const Shape& shape) {
        return open ? std::vector<int64_t>() : std::vector<int64_t>(shape.begin(), shape.end());
      };
      const auto run = [&]<class T>(T) {
        std::vector<Value> inputs = {Some<T>(q, 0.125f), Some<T>(k, 0.25f), Some<T>(k, 0.5f)};
        if (has_past) inputs.insert(inputs.end(), {Some<T>(past, 0.5f), Some<T>(past, 0.25f)});
        const Session session =
            Attending(ElementTypeOf<T>, dims(q), dims(k), dims(k), has_past, dims(past)).Session(PlainOn("cpu"));
        const Session rewritten =
            Attending(ElementTypeOf<T>, dims(q), dims(k), dims(k), has_past, dims(past)).Session(On("cpu"));
        const auto plain = ResultsOf(session, inputs), results = ResultsOf(rewritten, inputs);
        EXPECT_EQ(results[3].tensor().shape(), (Shape{1, 4, 3, has_past ? 7 : 5}));
        for (size_t i = 0; i < results.size(); ++i) {
          ASSERT_EQ(results[i].tensor().shape(), plain[i].tensor().shape());
          const auto a = results[i].tensor().values<T>(), e = plain[i].tensor().values<T>();
          for (size_t j = 0; j < e.size(); ++j) EXPECT_NEAR(static_cast<float>(a[j]), static_cast<float>(e[j]), 1e-2f) << i;
        }
      };
      run(Float16());
      run(float());
    }
  }
}

}  // namespace
}  // namespace tessera::testing
