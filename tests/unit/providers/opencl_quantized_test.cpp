// Matmuls and convolutions of few bits on the OpenCL provider, by panels and by tiles, against the CPU provider; skipped
// where there is no device.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::ConvolutionCase;
using testing::Elsewhere;
using testing::ExpectClose;
using testing::Float;
using testing::Floats;
using testing::Int;
using testing::Ints;
using ::testing::IsEmpty;
using testing::kConvolutionCases;
using testing::kOpencl;
using testing::ModelBuilder;
using testing::On;
using testing::OnDevice;
using testing::PlainOn;
using testing::Random;
using testing::ResultsOf;
using testing::Text;

class OpenclQuantizedTest : public OnDevice<::testing::TestWithParam<const char*>> {
 protected:
  /// Integers are the same, floats within rounding. Runs twice: what is kept from the first run must not disturb the
  /// second.
  static void ExpectAsOnCpu(const ModelBuilder& model, const std::vector<Value>& inputs) {
    SessionOptions options = PlainOn(kOpencl, {{"kernels", GetParam()}});
    options.config["session.min_island_nodes"] = "0";
    const Session device = model.Session(options), cpu = model.Session(PlainOn("cpu"));
    EXPECT_THAT(Elsewhere(device), IsEmpty());
    const std::vector<Value> expected = ResultsOf(cpu, inputs);
    for (int run = 0; run < 2; ++run) ExpectClose(ResultsOf(device, inputs), expected);
  }

  static void ImportMicrosoft(ModelBuilder& model) {
    auto* import = model.proto().add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
  }

  static Value QuantizedOf(ElementType type, const std::vector<int64_t>& dims, const std::vector<int>& quantized) {
    Tensor tensor(type, Shape(dims));
    auto* bytes = static_cast<uint8_t*>(tensor.mutable_raw());
    for (size_t i = 0; i < quantized.size(); ++i) bytes[i] = static_cast<uint8_t>(quantized[i]);
    return Value(std::move(tensor));
  }
  /// `margin` quantized values away from the least and the greatest one.
  static std::vector<int> RandomQuantized(ElementType type, int64_t count, unsigned seed, int margin = 0) {
    const int least = (type == ElementType::kInt8 ? -128 : 0) + margin,
              greatest = (type == ElementType::kInt8 ? 127 : 255) - margin;
    std::vector<int> quantized;
    for (const float value :
         Random(static_cast<size_t>(count), seed, static_cast<float>(least), static_cast<float>(greatest) + 0.99f)) {
      quantized.push_back(static_cast<int>(std::floor(value)));
    }
    return quantized;
  }
  /// An initializer, or an input of the model.
  static void Operand(ModelBuilder& model, std::vector<Value>& inputs, bool constant, const std::string& name,
                      ElementType type, const std::vector<int64_t>& dims, const std::vector<int>& quantized) {
    if (constant) {
      model.Quantized(name, type, dims, quantized);
    } else {
      model.Input(name, type, dims);
      inputs.push_back(QuantizedOf(type, dims, quantized));
    }
  }
};

struct QuantizedMatMul {
  std::vector<int64_t> a, b, y;
};
const QuantizedMatMul kMatMuls[] = {
    {{1, 1}, {1, 1}, {1, 1}},
    {{1, 33}, {33, 40}, {1, 40}},
    {{7, 64}, {64, 17}, {7, 17}},
    {{70, 129}, {129, 33}, {70, 33}},
    {{3, 20, 24}, {24, 33}, {3, 20, 33}},
    {{2, 1, 9, 15}, {3, 15, 20}, {2, 3, 9, 20}},
    {{5, 300}, {3, 300, 16}, {3, 5, 16}},
    {{24}, {3, 24, 5}, {3, 5}},
};

TEST_P(OpenclQuantizedTest, MatMulInteger) {
  for (const QuantizedMatMul& one : kMatMuls) {
    for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8}) {
      for (const int variant :
           {0, 1, 2, 3, 5}) {  // bit 0: B is constant; bit 1: a zero point for each column; bit 2: the middle one
        SCOPED_TRACE(fmt::format("{} times {}, {}, {}", fmt::join(one.a, "x"), fmt::join(one.b, "x"), ElementTypeName(type),
                                 variant));
        const ElementType other = type == ElementType::kInt8 ? ElementType::kUInt8 : ElementType::kInt8;
        const bool constant = variant & 1;
        const int64_t zeros = variant & 2 ? one.b.back() : 1;
        ModelBuilder model;
        std::vector<Value> inputs;
        model.Output("y", ElementType::kInt32, one.y);
        Operand(model, inputs, false, "a", type, one.a, RandomQuantized(type, Shape(one.a).num_elements(), 1));
        Operand(model, inputs, constant, "b", other, one.b, RandomQuantized(other, Shape(one.b).num_elements(), 2));
        Operand(model, inputs, false, "za", type, {}, {type == ElementType::kInt8 ? -100 : 200});
        const std::vector<int> middle = {other == ElementType::kInt8 ? 0 : 128};
        Operand(model, inputs, constant, "zb", other, {zeros}, variant & 4 ? middle : RandomQuantized(other, zeros, 3));
        model.Node("MatMulInteger", {"a", "b", "za", "zb"}, {"y"});
        ExpectAsOnCpu(model, inputs);
      }
    }
  }
}

TEST_P(OpenclQuantizedTest, QLinearMatMul) {
  for (const QuantizedMatMul& one : kMatMuls) {
    for (const int variant : {0, 1, 2, 3}) {  // bit 0: by column; bit 1: weights less their zero points are bytes
      SCOPED_TRACE(fmt::format("{} times {}, {}", fmt::join(one.a, "x"), fmt::join(one.b, "x"), variant));
      const int64_t scales = variant & 1 ? one.b.back() : 1;
      ModelBuilder model;
      std::vector<Value> inputs;
      model.Output("y", ElementType::kUInt8, one.y);
      Operand(model, inputs, false, "a", ElementType::kUInt8, one.a,
              RandomQuantized(ElementType::kUInt8, Shape(one.a).num_elements(), 1));
      model.Quantized("b", ElementType::kInt8, one.b,
                      RandomQuantized(ElementType::kInt8, Shape(one.b).num_elements(), 2, variant & 2 ? 3 : 0));
      model.Floats("sa", {}, {0.02f})
          .Floats("sb", {scales}, Random(static_cast<size_t>(scales), 3, 0.001f, 0.02f))
          .Floats("sy", {}, {0.25f});
      model.Quantized("za", ElementType::kUInt8, {}, {130})
          .Quantized("zb", ElementType::kInt8, {scales}, std::vector<int>(static_cast<size_t>(scales), 3));
      model.Quantized("zy", ElementType::kUInt8, {}, {100});
      model.Node("QLinearMatMul", {"a", "sa", "za", "b", "sb", "zb", "sy", "zy"}, {"y"});
      ExpectAsOnCpu(model, inputs);
    }
  }
}

TEST_P(OpenclQuantizedTest, MicrosoftArithmetic) {
  struct Case {
    std::vector<int64_t> a, b, y;
  };
  const Case cases[] = {
      {{}, {}, {}}, {{0, 3}, {1, 3}, {0, 3}}, {{2, 3, 5}, {2, 3, 5}, {2, 3, 5}}, {{3, 1, 5}, {2, 1}, {3, 2, 5}}};
  for (const Case& one : cases) {
    for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8}) {
      for (const std::string op : {"QLinearAdd", "QLinearMul"}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", op, ElementTypeName(type), fmt::join(one.a, "x"), fmt::join(one.b, "x")));
        ModelBuilder model;
        ImportMicrosoft(model);
        std::vector<Value> inputs;
        model.Output("y", type, one.y);
        Operand(model, inputs, false, "a", type, one.a, RandomQuantized(type, Shape(one.a).num_elements(), 1));
        Operand(model, inputs, false, "b", type, one.b, RandomQuantized(type, Shape(one.b).num_elements(), 2));
        // Powers of two: no result lies between two quantized values, where rounding decides.
        model.Floats("sa", {}, {0.25f}).Floats("sb", {}, {0.5f}).Floats("sy", {}, {0.25f});
        model.Quantized("za", type, {}, {3}).Quantized("zb", type, {}, {90}).Quantized("zy", type, {}, {20});
        model.Node(op, {"a", "sa", "za", "b", "sb", op == "QLinearAdd" ? "zb" : "", "sy", "zy"}, {"y"})
            .set_domain("com.microsoft");
        ExpectAsOnCpu(model, inputs);
      }
    }
  }
}

/// All quantized values; scales that are constants or inputs, zero points that are there or not.
TEST_P(OpenclQuantizedTest, MicrosoftFunctions) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8}) {
    for (const bool constant : {false, true}) {
      for (const bool zeros : {false, true}) {
        ModelBuilder model;
        ImportMicrosoft(model);
        std::vector<Value> inputs;
        Operand(model, inputs, false, "x", type, {2, 128}, RandomQuantized(type, 256, 1));
        for (int i = 0; i < 256; ++i) static_cast<uint8_t*>(inputs[0].tensor().mutable_raw())[i] = static_cast<uint8_t>(i);
        Operand(model, inputs, false, "none", type, {3, 0}, {});
        for (const auto& [name, scale] : {std::pair("sx", 0.05f), {"ss", 1.0f / 256}, {"sl", 0.1f}}) {
          if (constant) model.Floats(name, {}, {scale});
          if (!constant) model.Input(name, ElementType::kFloat, {1}), inputs.push_back(Floats({1}, {scale}));
        }
        Operand(model, inputs, constant, "zx", type, {}, {type == ElementType::kInt8 ? -8 : 120});
        Operand(model, inputs, constant, "zy", type, {}, {3});
        for (const auto& [to, from, op, scale] : {std::array{"s", "x", "QLinearSigmoid", "ss"},
                                                  {"l", "x", "QLinearLeakyRelu", "sl"},
                                                  {"c", "x", "QLinearLeakyRelu", "sl"},
                                                  {"n", "none", "QLinearSigmoid", "ss"}}) {
          auto& node = model.Node(op, {from, "sx", zeros ? "zx" : "", scale, zeros ? "zy" : ""}, {to});
          node.set_domain("com.microsoft");
          if (*to == 'c') Float(node, "alpha", 0.37f);
          model.Output(to, type, *to == 'n' ? std::vector<int64_t>{3, 0} : std::vector<int64_t>{2, 128});
        }
        SCOPED_TRACE(fmt::format("{} {} {}", ElementTypeName(type), constant, zeros));
        ExpectAsOnCpu(model, inputs);
      }
    }
  }
}

/// Each provider makes tables of what it was given: values of nine dimensions are not for the device.
TEST_P(OpenclQuantizedTest, FunctionsOfOneValueBecomeTablesWhereTheyAre) {
  ModelBuilder model;
  ImportMicrosoft(model);
  model.Floats("s", {}, {0.02f}).Quantized("z", ElementType::kUInt8, {}, {100});
  std::vector<Value> inputs;
  for (const auto& [name, dims] : {std::pair("a", std::vector<int64_t>{2, 128}), {"b", {2, 1, 1, 1, 4, 1, 8, 2, 2}}}) {
    const std::string of(name);
    Operand(model, inputs, false, of, ElementType::kUInt8, dims, RandomQuantized(ElementType::kUInt8, 256, 1));
    model.Node("DequantizeLinear", {of, "s", "z"}, {of + "d"});
    model.Node("Tanh", {of + "d"}, {of + "t"});
    model.Node("Mul", {of + "d", of + "t"}, {of + "m"});
    model.Node("QuantizeLinear", {of + "m", "s", "z"}, {of + "q"});
    model.Node("QLinearSigmoid", {of + "q", "s", "z", "s", "z"}, {of + "g"}).set_domain("com.microsoft");
    model.Node("QLinearMul", {of + "q", "s", "z", of + "g", "s", "z", "s", "z"}, {of + "y"}).set_domain("com.microsoft");
    model.Output(of + "y", ElementType::kUInt8, dims);
  }
  SessionOptions options = On(kOpencl, {{"kernels", GetParam()}});
  options.config["session.min_island_nodes"] = "0";
  const Session both = model.Session(options), cpu = model.Session(PlainOn("cpu"));
  std::vector<std::string> nodes;
  for (const auto& node : both.placement().nodes) nodes.push_back(std::string(node.provider) + " " + node.op_type);
  EXPECT_THAT(nodes, ::testing::UnorderedElementsAre("OpenCLExecutionProvider QuantizedLookup",
                                                     "CPUExecutionProvider QuantizedLookup"));
  ExpectClose(ResultsOf(both, inputs), ResultsOf(cpu, inputs));
}

TEST_P(OpenclQuantizedTest, MicrosoftAverages) {
  for (const bool last : {false, true}) {
    for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8}) {
      SCOPED_TRACE(fmt::format("{} {}", last, ElementTypeName(type)));
      ModelBuilder model;
      ImportMicrosoft(model);
      std::vector<Value> inputs;
      const std::vector<int64_t> x = last ? std::vector<int64_t>{2, 4, 8, 5} : std::vector<int64_t>{2, 5, 4, 8};
      model.Output("y", type, last ? std::vector<int64_t>{2, 1, 1, 5} : std::vector<int64_t>{2, 5, 1, 1});
      Operand(model, inputs, false, "x", type, x, RandomQuantized(type, 2 * 5 * 4 * 8, 1));
      model.Floats("sx", {}, {0.5f}).Floats("sy", {}, {0.3f});
      model.Quantized("zx", type, {}, {7}).Quantized("zy", type, {}, {50});
      auto& node = model.Node("QLinearGlobalAveragePool", {"x", "sx", "zx", "sy", "zy"}, {"y"});
      node.set_domain("com.microsoft");
      Int(node, "channels_last", last ? 1 : 0);
      ExpectAsOnCpu(model, inputs);
    }
  }
}

TEST_P(OpenclQuantizedTest, QGemm) {
  for (const bool bias : {false, true}) {
    for (const int64_t scales : {1, 33}) {
      SCOPED_TRACE(fmt::format("{} {}", bias, scales));
      ModelBuilder model;
      ImportMicrosoft(model);
      std::vector<Value> inputs;
      model.Output("y", ElementType::kUInt8, {7, 33});
      Operand(model, inputs, false, "a", ElementType::kUInt8, {7, 40}, RandomQuantized(ElementType::kUInt8, 7 * 40, 1));
      model.Quantized("b", ElementType::kInt8, {40, 33}, RandomQuantized(ElementType::kInt8, 40 * 33, 2, 3));
      model.Floats("sa", {}, {0.02f})
          .Floats("sb", {scales}, Random(static_cast<size_t>(scales), 3, 0.001f, 0.02f))
          .Floats("sy", {}, {0.25f});
      model.Quantized("za", ElementType::kUInt8, {}, {130})
          .Quantized("zb", ElementType::kInt8, {scales}, std::vector<int>(static_cast<size_t>(scales), 3));
      model.Quantized("zy", ElementType::kUInt8, {}, {100});
      model.Quantized("c", ElementType::kInt32, {33}, std::vector<int>(33, 1234));
      model.Node("QGemm", {"a", "sa", "za", "b", "sb", "zb", bias ? "c" : "", "sy", "zy"}, {"y"})
          .set_domain("com.microsoft");
      ExpectAsOnCpu(model, inputs);
    }
  }
}

/// What QDQ models become runs on the device from end to end.
TEST_P(OpenclQuantizedTest, AQuantizedNetworkStaysOnTheDevice) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 8, 8}).Output("y", ElementType::kFloat, {2, 10});
  model.Floats("s", {}, {0.05f})
      .Quantized("z", ElementType::kUInt8, {}, {128})
      .Quantized("zw", ElementType::kInt8, {}, {0});
  const auto quantize = [&](const std::string& name) {
    model.Node("QuantizeLinear", {name, "s", "z"}, {name + "_q"});
    model.Node("DequantizeLinear", {name + "_q", "s", "z"}, {name + "_d"});
  };
  model.Quantized("w", ElementType::kInt8, {8, 3, 3, 3}, RandomQuantized(ElementType::kInt8, 8 * 27, 1));
  model.Node("DequantizeLinear", {"w", "s", "zw"}, {"wd"});
  model.Quantized("u", ElementType::kInt8, {8, 8, 3, 3}, RandomQuantized(ElementType::kInt8, 8 * 72, 3));
  model.Node("DequantizeLinear", {"u", "s", "zw"}, {"ud"});
  model.Quantized("v", ElementType::kInt8, {10, 8}, RandomQuantized(ElementType::kInt8, 80, 2));
  model.Node("DequantizeLinear", {"v", "s", "zw"}, {"vd"});
  quantize("x");
  Ints(model.Node("Conv", {"x_d", "wd"}, {"c"}), "pads", {1, 1, 1, 1});
  quantize("c");
  Ints(model.Node("Conv", {"c_d", "ud"}, {"e"}), "pads", {1, 1, 1, 1});
  quantize("e");
  model.Node("Add", {"c_d", "e_d"}, {"a"});
  quantize("a");
  model.Node("GlobalAveragePool", {"a_d"}, {"p"});
  quantize("p");
  model.Node("Flatten", {"p_d"}, {"f"});
  Int(model.Node("Gemm", {"f", "vd"}, {"g"}), "transB", 1);
  quantize("g");
  model.Node("Identity", {"g_d"}, {"y"});
  const Session device = model.Session(On(kOpencl, {{"kernels", GetParam()}})), cpu = model.Session(PlainOn("cpu"));
  EXPECT_THAT(Elsewhere(device), IsEmpty());
  const std::string text = device.placement().ToText();
  for (const char* op : {"QLinearConv", "QLinearAdd", "QLinearGlobalAveragePool", "QGemm"})
    EXPECT_THAT(text, ::testing::HasSubstr(op));
  const std::vector<Value> inputs = {Floats({2, 3, 8, 8}, Random(2 * 3 * 64, 4))};
  ExpectClose(ResultsOf(device, inputs), ResultsOf(cpu, inputs), 0.06f);  // a step is 0.05
}

/// Other zero points are another form of the same weights.
TEST_P(OpenclQuantizedTest, ZeroPointsOfSharedWeights) {
  ModelBuilder model;
  std::vector<Value> inputs;
  Operand(model, inputs, false, "a", ElementType::kUInt8, {5, 40}, RandomQuantized(ElementType::kUInt8, 200, 1));
  model.Quantized("b", ElementType::kUInt8, {40, 20}, RandomQuantized(ElementType::kUInt8, 800, 2))
      .Quantized("za", ElementType::kUInt8, {}, {7});
  for (const int zero : {1, 2}) {
    const std::string name = fmt::format("y{}", zero), zeros = fmt::format("z{}", zero);
    model.Quantized(zeros, ElementType::kUInt8, {}, {zero}).Output(name, ElementType::kInt32, {5, 20});
    model.Node("MatMulInteger", {"a", "b", "za", zeros}, {name});
  }
  ExpectAsOnCpu(model, inputs);
}

TEST_P(OpenclQuantizedTest, Convolutions) {
  for (const ConvolutionCase& one : kConvolutionCases) {
    // Bit 0: filters are constant; bit 1: QLinearConv with a scale for each, else ConvInteger; bit 2: filters less their
    // zero points are bytes.
    for (const int variant : {0, 1, 2, 3, 5, 7}) {
      SCOPED_TRACE(fmt::format("{} by {}, {}", fmt::join(one.x, "x"), fmt::join(one.w, "x"), variant));
      const bool constant = variant & 1, integer = !(variant & 2);
      const int64_t filters = one.w[0];
      ModelBuilder model;
      std::vector<Value> inputs;
      Operand(model, inputs, false, "x", ElementType::kUInt8, one.x,
              RandomQuantized(ElementType::kUInt8, Shape(one.x).num_elements(), 1));
      Operand(model, inputs, constant, "w", ElementType::kInt8, one.w,
              RandomQuantized(ElementType::kInt8, Shape(one.w).num_elements(), 2, variant & 4 ? 2 : 0));
      model.Quantized("zx", ElementType::kUInt8, {}, {130})
          .Quantized("zw", ElementType::kInt8, {filters}, std::vector<int>(static_cast<size_t>(filters), -2));
      model.Floats("sx", {}, {0.02f})
          .Floats("sw", {filters}, Random(static_cast<size_t>(filters), 3, 0.001f, 0.02f))
          .Floats("sy", {}, {0.25f});
      model.Quantized("zy", ElementType::kUInt8, {}, {100})
          .Quantized("b", ElementType::kInt32, {filters}, std::vector<int>(static_cast<size_t>(filters), 70));
      model.AnyOutput("y", integer ? ElementType::kInt32 : ElementType::kUInt8);
      auto& conv = integer ? model.Node("ConvInteger", {"x", "w", "zx", "zw"}, {"y"})
                           : model.Node("QLinearConv", {"x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"}, {"y"});
      one.SetAttributes(conv);
      ExpectAsOnCpu(model, inputs);
    }
  }
}

TEST_P(OpenclQuantizedTest, WeightsOfFewBits) {
  struct Case {
    int64_t bits, block, k, n;
  };
  for (const Case& one : {Case{4, 16, 16, 1}, Case{4, 32, 70, 33}, Case{4, 256, 600, 20}, Case{8, 16, 47, 17},
                          Case{8, 64, 320, 16}, Case{2, 32, 100, 35}}) {
    for (const int64_t rows : {1, 3, 4, 70}) {
      for (const int zeros : {0, 1, 2}) {  // none, packed, numbers
        for (const bool constant : rows % 2 == 0 ? std::vector{true} : std::vector{false, true}) {
          SCOPED_TRACE(fmt::format("{} bits, blocks of {}, {} rows of {} by {}, zero points {}, constant {}", one.bits,
                                   one.block, rows, one.k, one.n, zeros, constant));
          const int64_t blocks = (one.k - 1) / one.block + 1, bytes = one.block * one.bits / 8,
                        zero_bytes = (blocks * one.bits + 7) / 8;
          ModelBuilder model;
          ImportMicrosoft(model);
          std::vector<Value> inputs = {Floats({rows, one.k}, Random(static_cast<size_t>(rows * one.k), 1))};
          model.Input("a", ElementType::kFloat, {rows, one.k}).Output("y", ElementType::kFloat, {rows, one.n});
          Operand(model, inputs, constant, "b", ElementType::kUInt8, {one.n, blocks, bytes},
                  RandomQuantized(ElementType::kUInt8, one.n * blocks * bytes, 2));
          model.Floats("s", {one.n * blocks}, Random(static_cast<size_t>(one.n * blocks), 3, 0.01f, 0.1f));
          if (zeros == 1)
            model.Quantized("z", ElementType::kUInt8, {one.n * zero_bytes},
                            RandomQuantized(ElementType::kUInt8, one.n * zero_bytes, 4));
          if (zeros == 2) model.Floats("z", {one.n * blocks}, Random(static_cast<size_t>(one.n * blocks), 5, 0, 15));
          model.Floats("bias", {one.n}, Random(static_cast<size_t>(one.n), 6));
          auto& node = model.Node("MatMulNBits", {"a", "b", "s", zeros == 0 ? "" : "z", "", "bias"}, {"y"});
          node.set_domain("com.microsoft");
          Int(node, "K", one.k);
          Int(node, "N", one.n);
          Int(node, "bits", one.bits);
          Int(node, "block_size", one.block);
          ExpectAsOnCpu(model, inputs);
        }
      }
    }
  }
}

/// Few enough for simulated devices.
TEST_P(OpenclQuantizedTest, SampleOfEach) {
  for (const int64_t rows : {1, 3, 9}) {
    ModelBuilder model;
    ImportMicrosoft(model);
    model.Input("a", ElementType::kFloat, {rows, 40}).Output("y", ElementType::kFloat, {rows, 17});
    model.Quantized("b", ElementType::kUInt8, {17, 3, 8}, RandomQuantized(ElementType::kUInt8, 17 * 24, 2));
    model.Floats("s", {51}, Random(51, 3, 0.01f, 0.1f))
        .Quantized("z", ElementType::kUInt8, {34}, RandomQuantized(ElementType::kUInt8, 34, 4));
    auto& node = model.Node("MatMulNBits", {"a", "b", "s", "z"}, {"y"});
    node.set_domain("com.microsoft");
    for (const auto& [name, value] :
         {std::pair("K", 40), std::pair("N", 17), std::pair("bits", 4), std::pair("block_size", 16)})
      Int(node, name, value);
    ExpectAsOnCpu(model, {Floats({rows, 40}, Random(static_cast<size_t>(rows * 40), 1))});
  }
  ModelBuilder model;
  std::vector<Value> inputs;
  Operand(model, inputs, false, "x", ElementType::kUInt8, {1, 3, 5, 5}, RandomQuantized(ElementType::kUInt8, 75, 1));
  model.Quantized("w", ElementType::kInt8, {9, 3, 3, 3}, RandomQuantized(ElementType::kInt8, 243, 2))
      .Quantized("z", ElementType::kUInt8, {}, {130});
  model.Output("y", ElementType::kInt32, {1, 9, 5, 5});
  Ints(model.Node("ConvInteger", {"x", "w", "z"}, {"y"}), "pads", {1, 1, 1, 1});
  ExpectAsOnCpu(model, inputs);
}

/// States of more entries than a block has rows, of widths that are no multiple of a panel's.
TEST_P(OpenclQuantizedTest, RecurrentStates) {
  for (const std::string op : {"RNN", "GRU", "LSTM"}) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      for (const int variant :
           {0, 1, 2, 3}) {  // bit 0: weights are constant; bit 1: another order of the GRU, an LSTM with peepholes
        SCOPED_TRACE(fmt::format("{} {} {}", op, direction, variant));
        const int64_t steps = 5, batch = 7, width = 11, hidden = 20,
                      gates = op == "LSTM"  ? 4
                              : op == "GRU" ? 3
                                            : 1,
                      ways = direction == "bidirectional" ? 2 : 1;
        ModelBuilder model;
        std::vector<Value> inputs;
        const auto floats = [&](bool constant, const std::string& name, const std::vector<int64_t>& dims, unsigned seed) {
          const std::vector<float> values = Random(static_cast<size_t>(Shape(dims).num_elements()), seed, -0.5f, 0.5f);
          if (constant) {
            model.Floats(name, dims, values);
          } else {
            model.Input(name, ElementType::kFloat, dims);
            inputs.push_back(Floats(dims, values));
          }
        };
        floats(false, "x", {steps, batch, width}, 1);
        floats(variant & 1, "w", {ways, gates * hidden, width}, 2);
        floats(variant & 1, "r", {ways, gates * hidden, hidden}, 3);
        floats(true, "b", {ways, 2 * gates * hidden}, 4);
        floats(true, "h", {ways, batch, hidden}, 5);
        floats(true, "c", {ways, batch, hidden}, 6);
        floats(true, "p", {ways, 3 * hidden}, 7);
        model.Quantized("lengths", ElementType::kInt32, {batch}, {5, 4, 0, 1, 5, 2, 3});
        model.Output("y", ElementType::kFloat, {steps, ways, batch, hidden})
            .Output("y_h", ElementType::kFloat, {ways, batch, hidden});
        if (op == "LSTM") model.Output("y_c", ElementType::kFloat, {ways, batch, hidden});
        auto& node = op != "LSTM"  ? model.Node(op, {"x", "w", "r", "b", "lengths", "h"}, {"y", "y_h"})
                     : variant & 2 ? model.Node(op, {"x", "w", "r", "b", "lengths", "h", "c", "p"}, {"y", "y_h", "y_c"})
                                   : model.Node(op, {"x", "w", "r", "b", "lengths", "h", "c"}, {"y", "y_h", "y_c"});
        Text(node, "direction", direction);
        Int(node, "hidden_size", hidden);
        if (op == "GRU") Int(node, "linear_before_reset", variant >> 1);
        ExpectAsOnCpu(model, inputs);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OpenclQuantizedTest, ::testing::Values("panels", "tiles"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera
