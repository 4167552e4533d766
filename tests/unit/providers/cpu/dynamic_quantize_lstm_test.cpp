#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::Int;
using testing::ModelBuilder;
using ::testing::Pointwise;
using testing::Text;

/// Two directions over 3 steps, 2 entries: their weights as quantized values, and as the numbers that these stand for.
struct QuantizedLstm {
  static constexpr int64_t kSteps = 3, kBatch = 2, kGates = 4;
  int64_t input, hidden;
  bool is_signed, by_column;
  std::vector<uint8_t> quantized[2], zeros[2];
  std::vector<float> scales[2];

  QuantizedLstm(int64_t input, int64_t hidden, bool is_signed, bool by_column)
      : input(input), hidden(hidden), is_signed(is_signed), by_column(by_column) {
    for (size_t m = 0; m < 2; ++m) {
      for (int64_t i = 0; i < 2 * inner(m) * columns(); ++i) quantized[m].push_back(static_cast<uint8_t>(i * 7919 % 251));
      for (int64_t i = 0; i < (by_column ? 2 * columns() : 2); ++i) {
        zeros[m].push_back(static_cast<uint8_t>((is_signed ? 0 : 128) + i % 5));
        scales[m].push_back(0.0005f + 0.0001f * static_cast<float>(i % 7));
      }
    }
  }
  int64_t inner(size_t m) const { return m == 0 ? input : hidden; }
  int64_t columns() const { return kGates * hidden; }
  std::vector<int64_t> parameter_dims() const {
    return by_column ? std::vector<int64_t>{2, columns()} : std::vector<int64_t>{2};
  }
  int Number(uint8_t q) const { return is_signed ? static_cast<int8_t>(q) : q; }

  /// [directions, columns, inner]
  std::vector<float> Real(size_t m) const {
    std::vector<float> real;
    for (int64_t d = 0; d < 2; ++d) {
      for (int64_t n = 0; n < columns(); ++n) {
        const auto parameter = static_cast<size_t>(by_column ? d * columns() + n : d);
        for (int64_t k = 0; k < inner(m); ++k) {
          const uint8_t q = quantized[m][static_cast<size_t>((d * inner(m) + k) * columns() + n)];
          real.push_back(static_cast<float>(Number(q) - Number(zeros[m][parameter])) * scales[m][parameter]);
        }
      }
    }
    return real;
  }
  Value X() const {
    std::vector<float> x;
    for (int64_t i = 0; i < kSteps * kBatch * input; ++i) x.push_back(static_cast<float>(i * 104729 % 1009) / 504.5f - 1);
    return testing::Floats({kSteps, kBatch, input}, std::move(x));
  }
  ModelBuilder Begin() const {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {kSteps, kBatch, input})
        .Output("y", ElementType::kFloat, {kSteps, 2, kBatch, hidden});
    return model;
  }
  std::vector<float> Exact() const {
    ModelBuilder model = Begin();
    model.Floats("w", {2, columns(), input}, Real(0)).Floats("r", {2, columns(), hidden}, Real(1));
    Int(Text(model.Node("LSTM", {"x", "w", "r"}, {"y"}), "direction", "bidirectional"), "hidden_size", hidden);
    return testing::ToVector(model.Session().Run(std::vector<std::string>{"x"}, std::vector<Value>{X()})[0]);
  }
  std::vector<float> Run(bool constant) const {
    ModelBuilder model = Begin();
    const ElementType type = is_signed ? ElementType::kInt8 : ElementType::kUInt8;
    std::vector<std::string> names = {"x"};
    std::vector<Value> inputs = {X()};
    for (size_t m = 0; m < 2; ++m) {
      const std::string name = m == 0 ? "w" : "r";
      const std::vector<int64_t> dims = {2, inner(m), columns()};
      if (constant) {
        model.Constant(name, dims, quantized[m], static_cast<onnx::TensorProto::DataType>(type));
      } else {
        model.Input(name, type, dims);
        names.push_back(name);
        Tensor tensor(type, Shape(dims));
        std::ranges::copy(quantized[m], static_cast<uint8_t*>(tensor.mutable_raw()));
        inputs.emplace_back(std::move(tensor));
      }
      model.Floats(name + "s", parameter_dims(), scales[m]);
      model.Constant(name + "z", parameter_dims(), zeros[m], static_cast<onnx::TensorProto::DataType>(type));
    }
    auto& node =
        model.Node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"}, {"y"}, "lstm");
    node.set_domain("com.microsoft");
    Int(Text(node, "direction", "bidirectional"), "hidden_size", hidden);
    return testing::ToVector(model.Session().Run(names, inputs)[0]);
  }
};

/// The weights count as they are; X and states are rounded to 12 bits and more. Sums of more than 4096 products have
/// several parts.
TEST(DynamicQuantizeLstm, IsAnLstmOfWhatItsQuantizedValuesStandFor) {
  for (const auto& [input, hidden] : {std::pair<int64_t, int64_t>{1, 1}, {5, 33}, {70, 64}, {64, 130}, {4099, 5}}) {
    for (const bool is_signed : {false, true}) {
      for (const bool by_column : {false, true}) {
        const QuantizedLstm lstm(input, hidden, is_signed, by_column);
        const std::vector<float> exact = lstm.Exact();
        for (const bool constant : {false, true}) {
          EXPECT_THAT(lstm.Run(constant), Pointwise(FloatNear(2e-4f), exact))
              << input << ", " << hidden << ", " << is_signed << by_column << constant;
        }
      }
    }
  }
}

TEST(DynamicQuantizeLstm, ChecksItsScales) {
  QuantizedLstm lstm(5, 4, true, false);
  lstm.scales[0].push_back(1);
  ModelBuilder model = lstm.Begin();
  for (const std::string name : {"w", "r"}) {
    const size_t m = name == "w" ? 0 : 1;
    model.Constant(name, {2, lstm.inner(m), lstm.columns()}, lstm.quantized[m], onnx::TensorProto::INT8);
    model.Floats(name + "s", {static_cast<int64_t>(lstm.scales[m].size())}, lstm.scales[m]);
    model.Constant(name + "z", {2}, lstm.zeros[m], onnx::TensorProto::INT8);
  }
  auto& node =
      model.Node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"}, {"y"}, "lstm");
  node.set_domain("com.microsoft");
  Int(Text(node, "direction", "bidirectional"), "hidden_size", lstm.hidden);
  EXPECT_THAT(ErrorOf([&] { model.Session(); }), HasSubstr("a scale is [3]"));
}

}  // namespace
}  // namespace tessera
