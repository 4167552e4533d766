// Matmuls at session.precision bf16 on the CPU provider.

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "attributes.h"
#include "base/cpu_features.h"
#include "model_builder.h"
#include "precision_of.h"
#include "random_numbers.h"

namespace tessera::testing {
namespace {

struct MatMulCase {
  std::string op = "MatMul";
  int64_t rows = 37, k = 129, n = 50;
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
  std::vector<int64_t> c = {};  // of a Gemm's C; empty: none
  bool halves = false;          // the weights come as float16
  bool computed = false;        // they are no constant
  bool rounded = false;         // they are numbers of bfloat16
};

class MatMulModel {
 public:
  explicit MatMulModel(const MatMulCase& p) {
    const std::vector<int64_t> a = {p.trans_a ? p.k : p.rows, p.trans_a ? p.rows : p.k};
    const std::vector<int64_t> b = {p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n};
    model_.Input("a", ElementType::kFloat, a).Output("y", ElementType::kFloat, {-1, -1});
    inputs_.push_back(Tensor::Of<float>(Shape(a), Numbers(a, 1)));
    std::vector<float> weights = Numbers(b, 2);
    if (p.rounded) {
      for (float& weight : weights) weight = static_cast<float>(BFloat16(weight));
    }
    if (p.computed) {
      model_.Input("b", ElementType::kFloat, b);
      inputs_.push_back(Tensor::Of<float>(Shape(b), weights));
    } else if (p.halves) {
      const std::vector<Float16> halves(weights.begin(), weights.end());
      std::vector<uint8_t> bytes(2 * halves.size());
      std::memcpy(bytes.data(), halves.data(), bytes.size());
      model_.Constant("b16", b, bytes, onnx::TensorProto::FLOAT16);
      Int(model_.Node("Cast", {"b16"}, {"b"}), "to", onnx::TensorProto::FLOAT);
    } else {
      model_.Floats("b", b, weights);
    }
    std::vector<std::string> inputs = {"a", "b"};
    if (!p.c.empty()) {
      model_.Floats("c", p.c, Numbers(p.c, 3));
      inputs.push_back("c");
    }
    auto& node =
        ModelBuilder::AddNode(*model_.proto().mutable_graph(), p.op, inputs, std::vector<std::string>{"y"}, "only");
    if (p.op != "Gemm") return;
    Int(Int(node, "transA", p.trans_a), "transB", p.trans_b);
    Float(Float(node, "alpha", p.alpha), "beta", p.beta);
  }

  Session At(const std::string& precision) const {
    SessionOptions options;
    if (!precision.empty()) options.config["session.precision"] = precision;
    return model_.Session(options);
  }
  std::vector<float> Run(const Session& session) const {
    const std::vector<std::string> names = {"a", "b"};
    return ToVector(session.Run(std::span(names).first(inputs_.size()), inputs_)[0]);
  }

 private:
  static std::vector<float> Numbers(const std::vector<int64_t>& dims, unsigned seed) {
    return Random(static_cast<size_t>(Shape(dims).num_elements()), seed, -1, 1);
  }

  ModelBuilder model_;
  std::vector<Value> inputs_;
};

TEST(MatMulPrecision, RoundsOperands) {
  const MatMulCase cases[] = {
      {},
      {.rows = 1},
      {.rows = 13, .k = 1, .n = 1},
      {.rows = 300, .k = 768, .n = 100},
      {.halves = true},
      {.op = "Gemm", .trans_b = true},
      {.op = "Gemm", .alpha = 0.5f, .beta = 2, .c = {50}},
      {.op = "Gemm", .k = 500, .alpha = 0.5f, .beta = 2, .c = {37, 50}},
      {.op = "Gemm", .k = 500, .c = {37, 50}},
      {.op = "Gemm", .c = {37, 1}},
      {.op = "Gemm", .trans_b = true, .c = {1}, .halves = true},
  };
  for (const MatMulCase& p : cases) {
    SCOPED_TRACE(::testing::Message() << p.op << ' ' << p.rows << " by " << p.k << " by " << p.n << ", C of rank "
                                      << p.c.size());
    const MatMulModel model(p);
    const Session exact = model.At(""), rounded = model.At("bf16");
    const std::vector<float> expected = model.Run(exact), found = model.Run(rounded);
    if (!HasAvx512Bf16()) {
      EXPECT_EQ(found, expected);
      continue;
    }
    if (!HasFastAvx512Bf16()) {
      EXPECT_EQ(found, model.Run(model.At("bf16-weights")));
      continue;
    }
    EXPECT_EQ(PrecisionOf(rounded, "only"), "bf16");
    EXPECT_NE(found, expected);
    // Errors of two roundings to 8 bits, added up as errors of either sign are.
    const float most = 5 * 0.004f * std::sqrt(static_cast<float>(p.k));
    EXPECT_THAT(found, ::testing::Pointwise(::testing::FloatNear(most), expected));
  }
}

/// Weights are the numbers of bfloat16 that are nearest, and all else is float32, whatever the processor.
TEST(MatMulPrecision, RoundsWeights) {
  MatMulCase cases[] = {
      {},
      {.rows = 1},
      {.rows = 13, .k = 1, .n = 1},
      {.rows = 300, .k = 768, .n = 100},
      {.op = "Gemm", .trans_b = true},
      {.op = "Gemm", .k = 500, .alpha = 0.5f, .beta = 2, .c = {37, 50}},
  };
  for (MatMulCase& p : cases) {
    SCOPED_TRACE(::testing::Message() << p.op << ' ' << p.rows << " by " << p.k << " by " << p.n);
    const MatMulModel model(p);
    const Session rounded = model.At("bf16-weights");
    EXPECT_EQ(PrecisionOf(rounded, "only"), "bf16-weights");
    const std::vector<float> found = model.Run(rounded);
    EXPECT_NE(found, model.Run(model.At("")));
    p.rounded = true;
    const MatMulModel of_rounded(p);
    EXPECT_EQ(found, of_rounded.Run(of_rounded.At("")));
  }
}

TEST(MatMulPrecision, OnlyConstantWeightsByRows) {
  for (const MatMulCase& p : {MatMulCase{.computed = true}, MatMulCase{.op = "Gemm", .trans_a = true}}) {
    const MatMulModel model(p);
    for (const char* precision : {"bf16", "bf16-weights"}) {
      const Session session = model.At(precision);
      if (precision == std::string_view("bf16-weights") || HasAvx512Bf16()) {
        EXPECT_EQ(PrecisionOf(session, "only"), "f32");
      }
      EXPECT_EQ(model.Run(session), model.Run(model.At("")));
    }
  }
}

}  // namespace
}  // namespace tessera::testing
