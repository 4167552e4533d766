#include <functional>
#include <limits>
#include <utility>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

constexpr int64_t kRows = 3;

/// Whole numbers up to 127, which each row and each column reaches: their quantization to 8 bits loses nothing.
std::vector<float> WholeNumbers(int64_t rows, int64_t columns) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      numbers.push_back(static_cast<float>(i % 16 == j % 16 ? 127 : (i * 31 + j * 17 + i * j) % 255 - 127));
  }
  return numbers;
}

/// x [3, k] times w [k, n] as "y", or as "p" where something comes after it.
ModelBuilder Product(int64_t k, int64_t n, const std::string& to = "y") {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kRows, k}).AnyOutput("y", ElementType::kFloat);
  model.Floats("w", {k, n}, WholeNumbers(k, n));
  model.Node("MatMul", {"x", "w"}, {to});
  return model;
}

/// Gemm instead of it, with w as [n, k] where `transposed`, and what `change` says.
ModelBuilder GemmProduct(int64_t k, int64_t n, bool transposed, const std::vector<int64_t>& bias = {},
                         const std::function<void(onnx::NodeProto&)>& change = {}) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kRows, k}).AnyOutput("y", ElementType::kFloat);
  const std::vector<int64_t> dims = transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
  model.Floats("w", dims, WholeNumbers(dims[0], dims[1]));
  if (!bias.empty()) model.Floats("b", bias, Numbers(static_cast<size_t>(bias[0] * (bias.size() > 1 ? bias[1] : 1))));
  onnx::NodeProto& gemm = bias.empty() ? model.Node("Gemm", {"x", "w"}, {"y"}) : model.Node("Gemm", {"x", "w", "b"}, {"y"});
  Int(gemm, "transB", transposed ? 1 : 0);
  if (change) change(gemm);
  return model;
}

Rewriting Quantized(const ModelBuilder& model) {
  return Rewriting(model, {"dynamic_quantize_matmul"}, Precision::kInt8Dynamic);
}

/// The numbers of whole ones are the same.
void ExpectSameNumbers(const Rewriting& rewriting, int64_t k) {
  const Value x = Floats({kRows, k}, WholeNumbers(kRows, k));
  EXPECT_EQ(rewriting.Difference({x}, true), "");
}

int64_t AttributeOf(const Rewriting& rewriting, NodeIndex index, std::string_view name) {
  for (const Attribute& attribute : rewriting.graph().node(index).attributes) {
    if (attribute.name == name) return std::get<int64_t>(attribute.value);
  }
  return -1;
}

TEST(DynamicQuantizeMatMul, OfConstantWeights) {
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{64, 16}, {128, 40}}) {
    const Rewriting rewriting = Quantized(Product(k, n));
    ASSERT_EQ(rewriting.after(), "MatMulNBits");
    const NodeIndex index = rewriting.graph().TopologicalOrder()[0];
    for (const auto& [name, value] :
         {std::pair<std::string, int64_t>{"K", k}, {"N", n}, {"bits", 8}, {"block_size", 64}, {"accuracy_level", 4}}) {
      EXPECT_EQ(AttributeOf(rewriting, index, name), value) << name;
    }
    ExpectSameNumbers(rewriting, k);
  }
}

TEST(DynamicQuantizeMatMul, WithTheirBias) {
  for (const bool transposed : {false, true}) {
    const Rewriting rewriting = Quantized(GemmProduct(64, 24, transposed, {24}));
    EXPECT_EQ(rewriting.after(), "MatMulNBits");
    ExpectSameNumbers(rewriting, 64);
  }
  ModelBuilder added = Product(64, 24, "p");
  added.Floats("b", {24}, Numbers(24)).Node("Add", {"b", "p"}, {"y"});
  const Rewriting rewriting = Quantized(added);
  EXPECT_EQ(rewriting.after(), "MatMulNBits");
  ExpectSameNumbers(rewriting, 64);
}

TEST(DynamicQuantizeMatMul, LeavesSumsThatAreNoBias) {
  ModelBuilder matrix = Product(64, 16, "p"), read = Product(64, 16, "p");
  matrix.Floats("b", {kRows, 16}, Numbers(48)).Node("Add", {"p", "b"}, {"y"});
  read.Floats("b", {16}, Numbers(16)).Node("Add", {"p", "b"}, {"y"});
  read.AnyOutput("p", ElementType::kFloat);
  for (const ModelBuilder* model : {&matrix, &read}) {
    const Rewriting rewriting = Quantized(*model);
    EXPECT_EQ(rewriting.after(), "MatMulNBits Add");
    ExpectSameNumbers(rewriting, 64);
  }
}

/// Two products of the same weights; these floats are kept only where something else reads them.
TEST(DynamicQuantizeMatMul, GivesTheFloatsBack) {
  for (const bool read : {false, true}) {
    ModelBuilder model = Product(64, 16);
    model.Node("MatMul", {"x", "w"}, {"z"});
    model.AnyOutput("z", ElementType::kFloat);
    if (read) {
      model.Node("Neg", {"w"}, {"n"});
      model.AnyOutput("n", ElementType::kFloat);
    }
    const Rewriting rewriting = Quantized(model);
    const Graph& graph = rewriting.graph();
    EXPECT_EQ(rewriting.report().passes[0].changes, 2u);
    bool kept = false;
    for (ValueIndex i = 0; i < static_cast<ValueIndex>(graph.num_values()); ++i)
      kept |= graph.value(i).name == "w" && graph.constant(i) != nullptr;
    EXPECT_EQ(kept, read);
    ExpectSameNumbers(rewriting, 64);
  }
}

TEST(DynamicQuantizeMatMul, OnlyAtThatPrecision) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBFloat16}) {
    const Rewriting rewriting(Product(64, 16), {"dynamic_quantize_matmul"}, precision);
    EXPECT_EQ(rewriting.after(), "MatMul");
  }
}

TEST(DynamicQuantizeMatMul, LeavesSmallMatrices) {
  EXPECT_EQ(Quantized(Product(63, 16)).after(), "MatMul");
  EXPECT_EQ(Quantized(Product(64, 15)).after(), "MatMul");
  EXPECT_EQ(Quantized(GemmProduct(64, 16, true)).after(), "MatMulNBits");
  EXPECT_EQ(Quantized(GemmProduct(63, 16, true)).after(), "Gemm");
  EXPECT_EQ(Quantized(GemmProduct(64, 15, true)).after(), "Gemm");
}

TEST(DynamicQuantizeMatMul, LeavesOtherGemms) {
  const auto change = [](const char* name, float value) {
    return [=](onnx::NodeProto& node) { Float(node, name, value); };
  };
  EXPECT_EQ(Quantized(GemmProduct(64, 16, false, {}, change("beta", 2))).after(), "MatMulNBits");  // of nothing
  for (const ModelBuilder& model :
       {GemmProduct(64, 16, false, {}, change("alpha", 2)), GemmProduct(64, 16, false, {16}, change("beta", 2)),
        GemmProduct(64, 16, false, {kRows, 16}), GemmProduct(64, 16, false, {kRows, 1})}) {
    EXPECT_EQ(Quantized(model).after(), "Gemm");
  }
  ModelBuilder turned;
  turned.Input("x", ElementType::kFloat, {64, kRows}).AnyOutput("y", ElementType::kFloat);
  turned.Floats("w", {64, 16}, WholeNumbers(64, 16));
  Int(turned.Node("Gemm", {"x", "w"}, {"y"}), "transA", 1);
  EXPECT_EQ(Quantized(turned).after(), "Gemm");
}

/// Weights that are given, of three dimensions, of another type, or not finite; constants on both sides.
TEST(DynamicQuantizeMatMul, LeavesOtherOperands) {
  for (const std::string reason : {"", "given", "batch", "doubles", "infinite", "constants"}) {
    ModelBuilder model;
    const bool doubles = reason == "doubles";
    const ElementType type = doubles ? ElementType::kDouble : ElementType::kFloat;
    std::vector<float> numbers = WholeNumbers(64, 16);
    if (reason == "infinite") numbers[70] = std::numeric_limits<float>::infinity();
    if (reason == "batch") numbers = WholeNumbers(64, 64 * 16);
    model.AnyOutput("y", type);
    if (reason == "constants") model.Floats("x", {kRows, 64}, WholeNumbers(kRows, 64));
    else model.Input("x", type, {kRows, 64});
    if (reason == "given") {
      model.Input("w", type, {64, 16});
    } else if (doubles) {
      const std::vector<double> wide(numbers.begin(), numbers.end());
      const auto* bytes = reinterpret_cast<const uint8_t*>(wide.data());
      model.Constant("w", {64, 16}, std::span(bytes, wide.size() * sizeof(double)), onnx::TensorProto::DOUBLE);
    } else {
      model.Floats("w", reason == "batch" ? std::vector<int64_t>{64, 64, 16} : std::vector<int64_t>{64, 16}, numbers);
    }
    model.Node("MatMul", {"x", "w"}, {"y"});
    EXPECT_EQ(Quantized(model).after(), reason.empty() ? "MatMulNBits" : "MatMul") << reason;
  }
}

/// The model's own MatMulNBits, of `bits` and without an accuracy level or with one.
ModelBuilder OwnProduct(int64_t bits, int64_t level, bool groups = false) {
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  model.Input("x", ElementType::kFloat, {kRows, 64}).Output("y", ElementType::kFloat, {kRows, 16});
  std::vector<uint8_t> quantized;
  for (int64_t i = 0; i < 16 * 64 * bits / 8; ++i) quantized.push_back(static_cast<uint8_t>(i * 37 + i / 64));
  model.Constant("w", {16, 1, 64 * bits / 8}, std::span<const uint8_t>(quantized)).Floats("s", {16}, Numbers(16, 2));
  model.Quantized("g", ElementType::kInt32, {64}, std::vector<int>(64, 0));
  auto& node = groups ? model.Node("MatMulNBits", {"x", "w", "s", "", "g"}, {"y"})
                      : model.Node("MatMulNBits", {"x", "w", "s"}, {"y"});
  node.set_domain("com.microsoft");
  Int(Int(Int(Int(node, "K", 64), "N", 16), "bits", bits), "block_size", 64);
  if (level >= 0) Int(node, "accuracy_level", level);
  return model;
}

TEST(DynamicQuantizeMatMul, MayQuantizeWhatOwnWeightsMeet) {
  for (const int64_t bits : {4, 8}) {
    for (const int64_t level : {-1, 0, 1}) {
      const Rewriting rewriting = Quantized(OwnProduct(bits, level));
      EXPECT_EQ(rewriting.after(), "MatMulNBits");
      EXPECT_EQ(rewriting.report().passes[0].changes, 1u);
      EXPECT_EQ(AttributeOf(rewriting, rewriting.graph().TopologicalOrder()[0], "accuracy_level"), 4);
      ExpectSameNumbers(rewriting, 64);
    }
  }
  for (const ModelBuilder& model : {OwnProduct(4, 4), OwnProduct(2, 0), OwnProduct(4, 0, true)})
    EXPECT_EQ(Quantized(model).report().passes[0].changes, 0u);
}

}  // namespace
}  // namespace tessera::testing
