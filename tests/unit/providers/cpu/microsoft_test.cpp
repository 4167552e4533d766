// com.microsoft: what models do wrong is said, not computed.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Int;
using testing::ModelBuilder;

onnx::NodeProto& Contrib(ModelBuilder& model, const char* op, std::initializer_list<std::string> inputs) {
  auto& node = model.Node(op, inputs, {"y"}, "node");
  node.set_domain("com.microsoft");
  return node;
}

TEST(Microsoft, AnUnknownOperatorIsNamed) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  Contrib(model, "NoSuchThing", {"x"});
  EXPECT_THAT(ErrorOf([&] { model.Session(); }), HasSubstr("com.microsoft.NoSuchThing"));
}

TEST(Microsoft, LayoutsThatOnnxRuntimeKeepsToItselfHaveARemedy) {
  for (const char* domain : {"com.microsoft.nchwc", "com.ms.internal.nhwc"}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 8, 4, 4})
        .Input("w", ElementType::kFloat, {8, 8, 1, 1})
        .Output("y", ElementType::kFloat, {1, 8, 4, 4});
    model.Node("Conv", {"x", "w"}, {"y"}).set_domain(domain);
    auto* import = model.proto().add_opset_import();
    import->set_domain(domain);
    import->set_version(1);
    EXPECT_THAT(ErrorOf([&] { model.Session(); }),
                HasSubstr("load the original model, or save the optimized one at its level 'extended'"));
  }
}

TEST(Microsoft, AnImportIsNotNeeded) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  Contrib(model, "QuickGelu", {"x"});
  const std::vector<std::string> names = {"x"};
  const std::vector<Value> inputs = {testing::Floats({2}, {0, 100})};
  EXPECT_THAT(testing::ToVector(model.Session().Run(names, inputs)[0]), ::testing::ElementsAre(0, 100));
}

TEST(Microsoft, TypesThatTheOperatorDoesNotTakeAreRefused) {
  ModelBuilder model;
  model.Input("x", ElementType::kInt32, {2}).Output("y", ElementType::kInt32, {2});
  Contrib(model, "Gelu", {"x"});
  EXPECT_THAT(ErrorOf([&] { model.Session(); }), HasSubstr("tensor(int32)"));
}

TEST(Microsoft, RequiredAttributesAreMissed) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 2, 4}).Output("y", ElementType::kFloat, {1, 2, 4});
  Contrib(model, "MultiHeadAttention", {"x", "x", "x"});
  EXPECT_THAT(ErrorOf([&] { model.Session(); }), HasSubstr("'num_heads' is required"));
}

ModelBuilder NBits(int64_t k, int64_t block_size, int64_t bits) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {1, 32})
      .Input("b", ElementType::kUInt8, {-1})
      .Input("s", ElementType::kFloat, {-1});
  model.Output("y", ElementType::kFloat, {-1, -1});
  auto& node = Contrib(model, "MatMulNBits", {"a", "b", "s"});
  Int(node, "K", k);
  Int(node, "N", 1);
  Int(node, "block_size", block_size);
  Int(node, "bits", bits);
  return model;
}

TEST(Microsoft, MatMulNBitsChecksItsAttributes) {
  EXPECT_THAT(ErrorOf([] { NBits(32, 24, 4).Session(); }), HasSubstr("block_size is 24"));
  EXPECT_THAT(ErrorOf([] { NBits(32, 32, 5).Session(); }), HasSubstr("bits is 5"));
  EXPECT_THAT(ErrorOf([] { NBits(0, 32, 4).Session(); }), HasSubstr("K is 0"));
}

TEST(Microsoft, MatMulNBitsChecksItsWeights) {
  const std::vector<std::string> names = {"a", "b", "s"};
  const std::vector<Value> inputs = {testing::Floats({1, 32}, std::vector<float>(32)),
                                     Tensor::Of<uint8_t>({8}, std::vector<uint8_t>(8)), testing::Floats({1}, {1})};
  const Session session = NBits(32, 32, 4).Session();
  EXPECT_THAT(ErrorOf([&] { session.Run(names, inputs); }), HasSubstr("B is [8]"));
}

/// Weights, and matmuls with them in doubles.
struct NBitsMatMul {
  int64_t bits, block, k, rows;
  bool zero_points;
  static constexpr int64_t kColumns = 37;
  std::vector<float> a, scales;
  std::vector<uint8_t> quantized, zeros;

  NBitsMatMul(int64_t bits, int64_t block, int64_t k, int64_t rows, bool zero_points)
      : bits(bits), block(block), k(k), rows(rows), zero_points(zero_points) {
    const auto pseudo = [](int64_t i) { return static_cast<float>((i * 7919 + 104729) % 1009) / 1009.0f; };
    // Neighbouring blocks are of other magnitudes.
    for (int64_t i = 0; i < rows * k; ++i) a.push_back(std::ldexp(pseudo(i) - 0.5f, static_cast<int>(i / 16 % 9)));
    for (int64_t i = 0; i < kColumns * blocks(); ++i) scales.push_back(0.01f + 0.01f * pseudo(i));
    for (int64_t i = 0; i < kColumns * blocks() * bytes(); ++i)
      quantized.push_back(static_cast<uint8_t>(256 * pseudo(3 * i)));
    for (int64_t i = 0; zero_points && i < kColumns * zero_bytes(); ++i)
      zeros.push_back(static_cast<uint8_t>(256 * pseudo(5 * i)));
  }
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t bytes() const { return block * bits / 8; }
  int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }

  static int QuantizedAt(const std::vector<uint8_t>& packed, int64_t bit, int64_t bits) {
    return (packed[static_cast<size_t>(bit / 8)] >> (bit % 8)) & ((1 << bits) - 1);
  }
  double Weight(int64_t n, int64_t i) const {
    const int64_t b = i / block;
    const int zero = zero_points ? QuantizedAt(zeros, n * zero_bytes() * 8 + b * bits, bits) : 1 << (bits - 1);
    const int q = QuantizedAt(quantized, (n * blocks() + b) * bytes() * 8 + i % block * bits, bits);
    return (q - zero) * static_cast<double>(scales[static_cast<size_t>(n * blocks() + b)]);
  }
  std::vector<float> Run() const {
    ModelBuilder model;
    model.Input("a", ElementType::kFloat, {rows, k}).Output("y", ElementType::kFloat, {-1, -1});
    model.Constant("b", {kColumns, blocks(), bytes()}, quantized).Floats("s", {kColumns, blocks()}, scales);
    if (zero_points) model.Constant("z", {kColumns, zero_bytes()}, zeros);
    auto& node = Contrib(model, "MatMulNBits", {"a", "b", "s", zero_points ? "z" : ""});
    for (const auto& [name, value] : {std::pair{"K", k}, {"N", kColumns}, {"block_size", block}, {"bits", bits}})
      Int(node, name, value);
    return testing::ToVector(
        model.Session().Run(std::vector<std::string>{"a"}, std::vector<Value>{testing::Floats({rows, k}, a)})[0]);
  }
  /// Errors against doubles are those of sums of floats, of quantized values that still have their zero points.
  void Check() const {
    const std::vector<float> y = Run();
    std::vector<double> weights;
    for (int64_t n = 0; n < kColumns; ++n) {
      for (int64_t i = 0; i < k; ++i) weights.push_back(Weight(n, i));
    }
    for (int64_t r = 0; r < rows; ++r) {
      const auto row = std::span(a).subspan(static_cast<size_t>(r * k), static_cast<size_t>(k));
      double magnitude = 0;  // of as many of the largest of each 16
      for (size_t i = 0; i < row.size(); i += 16) {
        const size_t count = std::min<size_t>(16, row.size() - i);
        double largest = 0;
        for (const float value : row.subspan(i, count)) largest = std::max(largest, std::abs(static_cast<double>(value)));
        magnitude += static_cast<double>(count) * std::ldexp(largest * 0.02, static_cast<int>(bits));
      }
      for (size_t n = 0; n < kColumns; ++n) {
        const double sum = std::inner_product(row.begin(), row.end(), weights.begin() + static_cast<int64_t>(n) * k, 0.0);
        ASSERT_NEAR(y[static_cast<size_t>(r) * kColumns + n], sum, 3e-7 * magnitude)
            << bits << " " << block << " " << k << " " << rows;
      }
    }
  }
};

TEST(Microsoft, MatMulNBitsIsAsExactAsFloats) {
  for (const int64_t bits : {2, 4, 8}) {
    for (const int64_t block : {16, 32, 128}) {
      for (const int64_t k : {5, 300, 1100}) {
        for (const int64_t rows : {1, 2, 3, 4, 7, 30}) {
          NBitsMatMul(bits, block, k, rows, false).Check();
          NBitsMatMul(bits, block, k, rows, true).Check();
        }
      }
    }
  }
}

/// All quantized values are the least or the largest, and all of A is as large as it may be: sums of integers are as large
/// as they become.
TEST(Microsoft, MatMulNBitsOfLargestSums) {
  for (const int64_t bits : {4, 8}) {
    for (const uint8_t q : {0x00, 0xff}) {
      for (const bool zero_points : {false, true}) {
        NBitsMatMul matmul(bits, 32, 600, 2, zero_points);
        std::ranges::fill(matmul.quantized, q);
        std::ranges::fill(matmul.zeros, static_cast<uint8_t>(~q));
        std::ranges::fill(matmul.a, 1.0f);
        matmul.Check();
        std::ranges::fill(matmul.a, -1.0f);
        matmul.Check();
      }
    }
  }
}

/// What is not finite stays in its row, and numbers near the least of floats keep their digits.
TEST(Microsoft, MatMulNBitsOfExtremes) {
  for (const int64_t rows : {2, 20}) {
    NBitsMatMul tiny(4, 32, 100, rows, false);
    for (float& value : tiny.a) value *= 0x1p-100f;
    tiny.Check();
    NBitsMatMul huge(4, 32, 100, rows, false);
    for (float& value : huge.a) value *= 0x1p110f;
    huge.Check();
    for (const float special : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      NBitsMatMul matmul(4, 32, 100, rows, false);
      const std::vector<float> finite = matmul.Run();
      matmul.a[3] = special;
      const std::vector<float> y = matmul.Run();
      for (size_t i = 0; i < y.size(); ++i) {
        if (i < static_cast<size_t>(NBitsMatMul::kColumns)) EXPECT_FALSE(std::isfinite(y[i]));
        else EXPECT_NEAR(y[i], finite[i], 1e-4f);
      }
    }
  }
}

/// accuracy_level 4 rounds A to 8 bits, one scale for each 16 or 32 numbers, and nothing else.
void CheckEightBitActivations(int64_t bits) {
  for (const int64_t block : {16, 32, 64, 256}) {
    for (const int64_t k : {5, 256, 1100}) {
      for (const int64_t rows : {1, 2, 3, 4, 6, 19}) {
        constexpr int64_t kColumns = 37;
        const int64_t blocks = (k + block - 1) / block, bytes = block * bits / 8;
        const auto pseudo = [](int64_t i) { return static_cast<float>((i * 7919 + 104729) % 1009) / 1009.0f; };
        std::vector<float> a, scales;
        std::vector<uint8_t> quantized, zeros;
        for (int64_t i = 0; i < rows * k; ++i) a.push_back(pseudo(i) - 0.5f);
        for (int64_t i = 0; i < kColumns * blocks; ++i) scales.push_back(0.01f + 0.01f * pseudo(i));
        for (int64_t i = 0; i < kColumns * blocks * bytes; ++i)
          quantized.push_back(static_cast<uint8_t>(256 * pseudo(3 * i)));
        for (int64_t i = 0; i < kColumns * ((blocks * bits + 7) / 8); ++i)
          zeros.push_back(static_cast<uint8_t>(256 * pseudo(5 * i)));
        const auto run = [&](int64_t level) {
          ModelBuilder model;
          model.Input("a", ElementType::kFloat, {rows, k}).Input("b", ElementType::kUInt8, {kColumns, blocks, bytes});
          model.Input("s", ElementType::kFloat, {kColumns, blocks}).Input("z", ElementType::kUInt8, {-1});
          model.Output("y", ElementType::kFloat, {-1, -1});
          auto& node = Contrib(model, "MatMulNBits", {"a", "b", "s", "z"});
          Int(node, "K", k);
          Int(node, "N", kColumns);
          Int(node, "block_size", block);
          Int(node, "bits", bits);
          Int(node, "accuracy_level", level);
          const std::vector<std::string> names = {"a", "b", "s", "z"};
          const std::vector<Value> inputs = {testing::Floats({rows, k}, a),
                                             Tensor::Of<uint8_t>({kColumns, blocks, bytes}, quantized),
                                             testing::Floats({kColumns, blocks}, scales),
                                             Tensor::Of<uint8_t>({static_cast<int64_t>(zeros.size())}, zeros)};
          return testing::ToVector(model.Session().Run(names, inputs)[0]);
        };
        const std::vector<float> exact = run(0), rounded = run(4);
        float difference = 0;
        for (size_t i = 0; i < exact.size(); ++i) difference = std::max(difference, std::abs(exact[i] - rounded[i]));
        // Half a step of 0.5 / 127 times a weight of at most 15 * 0.02, or 255 * 0.02, added up as errors of either sign
        // are.
        const float most =
            0.5f * 0.5f / 127 * 0.02f * static_cast<float>((1 << bits) - 1) * 4 * std::sqrt(static_cast<float>(k));
        EXPECT_LE(difference, most) << block << " " << k << " " << rows;
        EXPECT_GT(difference, 0) << block << " " << k << " " << rows;
      }
    }
  }
}
TEST(Microsoft, MatMulNBitsOfEightBitActivations) {
  CheckEightBitActivations(4);
  CheckEightBitActivations(8);
}

/// Constant zero points that are all the same are taken at load; as inputs they are met block by block. Bits beyond the
/// last of a row count for nothing.
TEST(Microsoft, MatMulNBitsOfOneZeroPoint) {
  constexpr int64_t kColumns = 21, kBlock = 32, kK = 300, kBlocks = (kK + kBlock - 1) / kBlock;
  const auto pseudo = [](int64_t i) { return static_cast<float>((i * 7919 + 104729) % 1009) / 1009.0f; };
  std::vector<float> scales;
  for (int64_t i = 0; i < kColumns * kBlocks; ++i) scales.push_back(0.01f + 0.01f * pseudo(i));
  for (const int bits : {2, 4, 8}) {
    for (const int zero : {0, 1, (1 << bits) - 1}) {
      const int64_t bytes = kBlock * bits / 8, row_bytes = (kBlocks * bits + 7) / 8;
      std::vector<uint8_t> quantized, zeros;
      for (int64_t i = 0; i < kColumns * kBlocks * bytes; ++i)
        quantized.push_back(static_cast<uint8_t>(256 * pseudo(3 * i)));
      for (int64_t i = 0; i < kColumns * row_bytes; ++i) {
        const int64_t used = i % row_bytes + 1 < row_bytes ? 8 : (kBlocks * bits - 1) % 8 + 1;
        int byte = 0xa5 << used;
        for (int64_t bit = 0; bit < used; bit += bits) byte |= zero << bit;
        zeros.push_back(static_cast<uint8_t>(byte));
      }
      for (const int64_t level : {0, 4}) {
        for (const int64_t rows : {1, 3, 19}) {
          std::vector<float> a;
          for (int64_t i = 0; i < rows * kK; ++i) a.push_back(pseudo(i) - 0.5f);
          const auto run = [&](bool constant) {
            ModelBuilder model;
            model.Input("a", ElementType::kFloat, {rows, kK}).Output("y", ElementType::kFloat, {-1, -1});
            model.Constant("b", {kColumns, kBlocks, bytes}, quantized).Floats("s", {kColumns, kBlocks}, scales);
            if (constant) model.Constant("z", {kColumns, row_bytes}, zeros);
            else model.Input("z", ElementType::kUInt8, {kColumns, row_bytes});
            auto& node = Contrib(model, "MatMulNBits", {"a", "b", "s", "z"});
            for (const auto& [name, value] : {std::pair{"K", kK}, {"N", kColumns}, {"block_size", kBlock}})
              Int(node, name, value);
            Int(node, "bits", bits);
            Int(node, "accuracy_level", level);
            std::vector<std::string> names = {"a"};
            std::vector<Value> inputs = {testing::Floats({rows, kK}, a)};
            if (!constant) {
              names.push_back("z");
              inputs.push_back(Tensor::Of<uint8_t>({kColumns, row_bytes}, zeros));
            }
            return testing::ToVector(model.Session().Run(names, inputs)[0]);
          };
          EXPECT_THAT(run(true), ::testing::Pointwise(::testing::FloatNear(2e-4f), run(false)))
              << bits << " bits, " << zero << ", level " << level << ", " << rows << " rows";
        }
      }
    }
  }
}

TEST(Microsoft, GroupQueryAttentionChecksItsLengths) {
  ModelBuilder model;
  model.Input("q", ElementType::kFloat, {1, 1, 24})
      .Input("n", ElementType::kInt32, {1})
      .Input("t", ElementType::kInt32, {});
  model.Output("y", ElementType::kFloat, {-1, -1, -1});
  auto& node = Contrib(model, "GroupQueryAttention", {"q", "", "", "", "", "n", "t"});
  Int(node, "num_heads", 1);
  Int(node, "kv_num_heads", 1);
  const Session session = model.Session();
  const std::vector<std::string> names = {"q", "n", "t"};
  const auto run = [&](int32_t length, int32_t total) {
    const std::vector<Value> inputs = {testing::Floats({1, 1, 24}, std::vector<float>(24)),
                                       Tensor::Of<int32_t>({1}, std::vector{length}),
                                       Tensor::Of<int32_t>({}, std::vector{total})};
    return ErrorOf([&] { session.Run(names, inputs); });
  };
  EXPECT_EQ(run(0, 1), "no error");
  EXPECT_THAT(run(5, 1), HasSubstr("seqlens_k holds 5"));
  EXPECT_THAT(run(-3, 1), HasSubstr("seqlens_k holds -3"));
  EXPECT_THAT(run(4, 5), HasSubstr("seqlens_k holds 4"));
  EXPECT_THAT(run(0, 0), HasSubstr("total_sequence_length is 0"));
}

/// Experts whose weights come with the tokens.
ModelBuilder Mixture(int64_t k, const std::string& activation) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1})
      .Input("router", ElementType::kFloat, {-1, -1})
      .Input("fc1", ElementType::kFloat, {-1, -1, -1});
  model.Input("fc2", ElementType::kFloat, {-1, -1, -1}).Output("y", ElementType::kFloat, {-1, -1});
  auto& node = Contrib(model, "MoE", {"x", "router", "fc1", "", "fc2"});
  Int(node, "k", k);
  testing::Text(node, "activation_type", activation);
  return model;
}

std::string MixtureError(const ModelBuilder& model, const Shape& router, const Shape& first, const Shape& second) {
  const Session session = model.Session();
  std::vector<Value> inputs;
  for (const Shape& shape : {Shape{2, 3}, router, first, second}) {
    inputs.emplace_back(Tensor::Of<float>(shape, std::vector<float>(static_cast<size_t>(shape.num_elements()), 0.5f)));
  }
  std::vector<Value> outputs(1);
  return ErrorOf([&] { session.Run(inputs, outputs); });
}

TEST(Microsoft, MixturesSayWhatDoesNotFit) {
  EXPECT_THAT(ErrorOf([] { Mixture(0, "relu").Session(); }), HasSubstr("k is 0"));
  EXPECT_THAT(ErrorOf([] { Mixture(1, "tanh").Session(); }), HasSubstr("activation_type is 'tanh'"));
  EXPECT_THAT(MixtureError(Mixture(5, "relu"), {2, 4}, {4, 2, 3}, {4, 3, 2}), HasSubstr("k is 5 of 4 experts"));
  EXPECT_THAT(MixtureError(Mixture(1, "relu"), {3, 4}, {4, 2, 3}, {4, 3, 2}), HasSubstr("[2,4] is expected"));
  EXPECT_THAT(MixtureError(Mixture(1, "relu"), {2, 4}, {4, 2, 5}, {4, 3, 2}), HasSubstr("fc1 is [4,2,5]"));
  EXPECT_THAT(MixtureError(Mixture(1, "relu"), {2, 4}, {4, 2, 3}, {3, 3, 2}), HasSubstr("fc2 [3,3,2]"));
  EXPECT_THAT(MixtureError(Mixture(1, "swiglu"), {2, 4}, {4, 2, 3}, {4, 3, 2}), HasSubstr("fc3"));
  EXPECT_EQ(MixtureError(Mixture(1, "relu"), {2, 4}, {4, 2, 3}, {4, 3, 2}), "no error");
  EXPECT_EQ(MixtureError(Mixture(1, "relu"), {2, 4}, {4, 0, 3}, {4, 3, 0}), "no error");  // biases alone
}

}  // namespace
}  // namespace tessera
