#include "optimizer/quantized_model.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

struct RequantizationCase {
  std::string name, between;  // an operator between, if any
  float scale;
  int zero;
  bool goes;
};

const RequantizationCase kRequantizationCases[] = {
    {"Same", "", 0.02f, 125, true},
    {"OtherScale", "", 0.03f, 125, false},
    {"OtherZero", "", 0.02f, 124, false},
    {"ReluThatCuts", "Relu", 0.02f, 125, false},
    {"Other", "Neg", 0.02f, 125, false},
    // Between 0 and 6: the quantized values' range is 5.1.
    {"ReluOfWhatIsNotNegative", "Relu", 0.02f, 0, true},
    {"ClipBeyondTheRange", "Clip", 0.02f, 0, true},
    {"ClipWithinTheRange", "Clip", 0.03f, 0, false},
};

/// From 8-bit "x" to 8-bit "y", and what others read of the floats between.
ModelBuilder Requantization(const RequantizationCase& one, bool seen) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kUInt8, {2, 128}).Output("y", ElementType::kUInt8, {2, 128});
  const float from = one.name == "OtherScale" ? 0.02f : one.scale;
  model.Floats("s", {}, {from}).Quantized("z", ElementType::kUInt8, {}, {one.name == "OtherZero" ? 125 : one.zero});
  model.Floats("t", {}, {one.scale}).Quantized("u", ElementType::kUInt8, {}, {one.zero});
  model.Floats("low", {}, {0}).Floats("high", {}, {6});
  model.Node("Transpose", {"x"}, {"m"});
  model.Node("DequantizeLinear", {"m", "s", "z"}, {"d"});
  std::string last = "d";
  if (!one.between.empty()) {
    auto& node = model.Node(one.between, {"d"}, {"e"});
    if (one.between == "Clip") node.add_input("low"), node.add_input("high");
    last = "e";
  }
  model.Node("QuantizeLinear", {last, "t", "u"}, {"q"});
  model.Node("Transpose", {"q"}, {"y"});
  if (seen) model.Node("Identity", {last}, {"floats"}), model.Output("floats", ElementType::kFloat, {128, 2});
  return model;
}

TEST(EliminateRequantizations, OfTheSameScaleAndZeroPoint) {
  Tensor x(ElementType::kUInt8, Shape{2, 128});
  for (int i = 0; i < 256; ++i) x.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i);
  for (const RequantizationCase& one : kRequantizationCases) {
    for (const bool seen : {false, true}) {
      SCOPED_TRACE(one.name + (seen ? ", seen" : ""));
      const Rewriting rewriting(Requantization(one, seen), {"eliminate_requantizations", "eliminate_dead_nodes"});
      const bool stays = rewriting.after().find("Transpose QuantizeLinear") != std::string::npos ||
                         rewriting.after().find("QuantizeLinear Transpose") != std::string::npos;
      EXPECT_EQ(stays, !one.goes) << rewriting.after();
      if (one.goes && !seen) {
        EXPECT_EQ(rewriting.after(), "Transpose Transpose");
      }
      EXPECT_EQ(rewriting.Difference({Value(x)}), "");
    }
  }
}

/// Floats that are no more numbers do not come back.
TEST(EliminateRequantizations, OfScalesThatOverflowStay) {
  const Rewriting rewriting(Requantization({"", "", 3e38f, 100, false}, false), {"eliminate_requantizations"});
  EXPECT_EQ(rewriting.after(), rewriting.before());
}

}  // namespace
}  // namespace tessera::testing
