#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

using onnx::TensorProto;

/// A constant of packed integers: bytes that look random.
void AddQuantized(ModelBuilder& model, const std::string& name, TensorProto::DataType type,
                  const std::vector<int64_t>& dims, int bits) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<uint8_t> bytes;
  uint32_t state = 12345;
  for (int64_t i = 0; i < (count * bits + 7) / 8; ++i) {
    state = state * 1664525u + 1013904223u;
    bytes.push_back(static_cast<uint8_t>(state >> 24));
  }
  model.Constant(name, dims, bytes, type);
}

int BitsOf(TensorProto::DataType type) {
  switch (type) {
    case TensorProto::INT8:
    case TensorProto::UINT8: return 8;
    case TensorProto::INT2:
    case TensorProto::UINT2: return 2;
    default: return 4;
  }
}

enum class Scales { kTensor, kColumn, kBlock };
enum class Form { kMatMul, kTransposed, kGemm, kGemmTransposed };

struct NBitsCase {
  std::string name;
  TensorProto::DataType type = TensorProto::INT4;
  Scales scales = Scales::kBlock;
  int64_t block = 32;
  bool zeros = false;
  Form form = Form::kMatMul;
  int64_t k = 64, n = 9;
  std::string expected = "MatMulNBits";
};

std::vector<int64_t> ScaleDims(const NBitsCase& c, bool transposed) {
  if (c.scales == Scales::kTensor) return {};
  if (c.scales == Scales::kColumn) return {c.n};
  const int64_t blocks = (c.k + c.block - 1) / c.block;
  return transposed ? std::vector<int64_t>{c.n, blocks} : std::vector<int64_t>{blocks, c.n};
}

ModelBuilder NBitsModel(const NBitsCase& c) {
  const bool transposed = c.form == Form::kTransposed || c.form == Form::kGemmTransposed;
  const bool gemm = c.form == Form::kGemm || c.form == Form::kGemmTransposed;
  ModelBuilder model(25);
  model.proto().set_ir_version(13);
  model.Input("x", ElementType::kFloat, gemm ? std::vector<int64_t>{-1, c.k} : std::vector<int64_t>{2, -1, c.k});
  model.Output("y", ElementType::kFloat, gemm ? std::vector<int64_t>{-1, c.n} : std::vector<int64_t>{2, -1, c.n});
  AddQuantized(model, "w", c.type, transposed ? std::vector<int64_t>{c.n, c.k} : std::vector<int64_t>{c.k, c.n},
               BitsOf(c.type));
  const std::vector<int64_t> dims = ScaleDims(c, transposed);
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> scales;
  for (int64_t i = 0; i < count; ++i) scales.push_back(0.01f + 0.001f * static_cast<float>(i % 11));
  model.Floats("s", dims, scales);
  if (c.zeros) AddQuantized(model, "z", c.type, dims, BitsOf(c.type));
  auto& node =
      c.zeros ? model.Node("DequantizeLinear", {"w", "s", "z"}, {"d"}) : model.Node("DequantizeLinear", {"w", "s"}, {"d"});
  if (c.scales == Scales::kBlock) Int(node, "block_size", c.block);
  Int(node, "axis", (c.scales == Scales::kBlock) == transposed ? 1 : 0);
  if (c.scales == Scales::kColumn) node.mutable_attribute(0)->set_i(transposed ? 0 : 1);
  if (c.form == Form::kTransposed) {
    Ints(model.Node("Transpose", {"d"}, {"t"}), "perm", {1, 0});
    model.Node("MatMul", {"x", "t"}, {"y"});
  } else if (gemm) {
    std::vector<float> bias(static_cast<size_t>(c.n), 0.25f);
    model.Floats("b", {1, c.n}, bias);
    Int(model.Node("Gemm", {"x", "d", "b"}, {"y"}), "transB", transposed);
  } else {
    model.Node("MatMul", {"x", "d"}, {"y"});
  }
  return model;
}

class RecognizeMatMulNBits : public ::testing::TestWithParam<NBitsCase> {};

TEST_P(RecognizeMatMulNBits, ComputesTheSame) {
  const Rewriting rewriting(NBitsModel(GetParam()), {"recognize_matmul_nbits", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), GetParam().expected);
  for (const int64_t rows : {1, 3, 40}) EXPECT_EQ(rewriting.Difference(1, rows, true), "") << rows;
}

INSTANTIATE_TEST_SUITE_P(
    Forms, RecognizeMatMulNBits,
    ::testing::Values(
        NBitsCase{"Int4Blocks"}, NBitsCase{.name = "Int4BlocksZeros", .zeros = true},
        NBitsCase{.name = "UInt4", .type = TensorProto::UINT4},
        NBitsCase{.name = "UInt4Zeros", .type = TensorProto::UINT4, .zeros = true},
        NBitsCase{.name = "Int8", .type = TensorProto::INT8},
        NBitsCase{.name = "Int8Zeros", .type = TensorProto::INT8, .zeros = true},
        NBitsCase{.name = "UInt8Zeros", .type = TensorProto::UINT8, .zeros = true},
        NBitsCase{.name = "Int2", .type = TensorProto::INT2},
        NBitsCase{.name = "UInt2Zeros", .type = TensorProto::UINT2, .zeros = true, .k = 50, .n = 17},
        NBitsCase{.name = "Tensor", .scales = Scales::kTensor, .zeros = true},
        NBitsCase{.name = "TensorOddSizes", .scales = Scales::kTensor, .k = 333, .n = 67},
        NBitsCase{.name = "Column", .type = TensorProto::INT8, .scales = Scales::kColumn, .zeros = true, .k = 100},
        NBitsCase{.name = "ColumnTransposed", .scales = Scales::kColumn, .form = Form::kTransposed, .k = 41, .n = 130},
        NBitsCase{.name = "OddSizes", .zeros = true, .k = 345, .n = 65},
        NBitsCase{.name = "Blocks48", .block = 48, .zeros = true, .k = 150},
        NBitsCase{.name = "BlockLargerThanK", .block = 512, .k = 50},
        NBitsCase{.name = "Blocks128", .block = 128, .zeros = true, .k = 768, .n = 33},
        NBitsCase{.name = "Transposed", .zeros = true, .form = Form::kTransposed, .k = 77},
        NBitsCase{.name = "Gemm", .form = Form::kGemm},
        NBitsCase{.name = "GemmTransposed", .zeros = true, .form = Form::kGemmTransposed, .k = 65, .n = 20},
        NBitsCase{.name = "SmallBlocksStay", .block = 8, .expected = "DequantizeLinear MatMul"}),
    [](const auto& info) { return info.param.name; });

TEST(RecognizeMatMulNBits, TakesTheBias) {
  ModelBuilder model(21);
  model.Input("x", ElementType::kFloat, {2, -1, 64}).Output("y", ElementType::kFloat, {2, -1, 8});
  AddQuantized(model, "w", TensorProto::INT4, {64, 8}, 4);
  model.Floats("s", {}, {0.1f}).Floats("b", {1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8});
  model.Node("DequantizeLinear", {"w", "s"}, {"d"});
  model.Node("MatMul", {"x", "d"}, {"p"});
  model.Node("Add", {"b", "p"}, {"y"});
  const Rewriting rewriting(model, {"recognize_matmul_nbits", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "MatMulNBits");
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

TEST(RecognizeMatMulNBits, ServesAllReadersOrNone) {
  for (const bool fits : {true, false}) {
    ModelBuilder model(21);
    model.Input("x", ElementType::kFloat, {-1, 32})
        .Output("y", ElementType::kFloat, {-1, 32})
        .Output("z", ElementType::kFloat, {-1, 32});
    AddQuantized(model, "w", TensorProto::INT4, {32, 32}, 4);
    model.Floats("s", {}, {0.1f});
    model.Node("DequantizeLinear", {"w", "s"}, {"d"});
    model.Node("MatMul", {"x", "d"}, {"y"});
    if (fits) model.Node("MatMul", {"y", "d"}, {"z"});
    else model.Node("MatMul", {"d", "d"}, {"z"});
    const Rewriting rewriting(model, {"recognize_matmul_nbits", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.after(), fits ? "MatMulNBits MatMulNBits" : rewriting.before());
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  }
}

TEST(RecognizeMatMulNBits, LeavesMatricesThatAreReadAsFloats) {
  ModelBuilder model(21);
  model.Input("x", ElementType::kFloat, {-1, 32})
      .Output("y", ElementType::kFloat, {-1, 16})
      .Output("d", ElementType::kFloat, {32, 16});
  AddQuantized(model, "w", TensorProto::INT4, {32, 16}, 4);
  model.Floats("s", {}, {0.1f});
  model.Node("DequantizeLinear", {"w", "s"}, {"d"});
  model.Node("MatMul", {"x", "d"}, {"y"});
  const Rewriting rewriting(model, {"recognize_matmul_nbits"});
  EXPECT_EQ(rewriting.after(), rewriting.before());
}

}  // namespace
}  // namespace tessera::testing
