#include "attributes.h"
#include "optimizer/quantized_model.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// Parts of other scales and zero points become the whole's by tables; the one that has the whole's stays as it is.
TEST(QuantizedMoves, JoinPartsOfOtherScales) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    QuantizedModel q({2, 6, 8, 8}, 4, type);
    q.model().Node("Sigmoid", {"xd"}, {"a"});
    q.Quantize("a", "ad", 0.005f, q.Lowest());
    q.model().Node("Tanh", {"xd"}, {"b"});
    q.Quantize("b", "bd", 0.02f, q.Zero());
    Int(q.model().Node("Concat", {"ad", "bd", "xd"}, {"c"}), "axis", 1);
    q.Quantize("c", "y", 0.02f, q.Zero());
    ExpectSame(q.model(), {2, 6, 8, 8}, "QuantizeLinear QuantizedLookup QuantizedLookup Concat DequantizeLinear", 1e-6f);
  }
}

/// A part that is no quantized value, and a result that others read as floats.
TEST(QuantizedMoves, JoinFloatsWhereTheyMust) {
  for (const bool seen : {false, true}) {
    QuantizedModel q({2, 6, 8, 8}, 4, ElementType::kUInt8);
    q.model().Node("Sigmoid", {"x"}, {"a"});
    q.Quantize("a", "ad", 0.005f, 0);
    Int(q.model().Node("Concat", {seen ? "ad" : "x", "xd"}, {"c"}), "axis", 1);
    q.Quantize("c", "d", 0.02f, q.Zero());
    q.model().Node("Add", {"d", seen ? "c" : "d"}, {"y"});
    const Rewriting rewriting(q.model(), {"hoist_quantize_over_concat"});
    EXPECT_EQ(rewriting.report().passes[0].changes, 0u);
  }
}

}  // namespace
}  // namespace tessera::testing
