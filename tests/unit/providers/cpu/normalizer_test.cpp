// Normalizer's rows that are longer than what is folded between two cancellation points.

#include <gmock/gmock.h>

#include <cmath>

#include "attributes.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

TEST(Normalizer, LongRows) {
  constexpr int64_t kRows = 2, kWidth = 2'200'000;
  for (const char* norm : {"MAX", "L1", "L2"}) {
    ModelBuilder model(17);
    auto* import = model.proto().add_opset_import();
    import->set_domain("ai.onnx.ml");
    import->set_version(1);
    model.Input("x", ElementType::kFloat, {-1, -1}).Output("y", ElementType::kFloat, {-1, -1});
    onnx::NodeProto& node = model.Node("Normalizer", {"x"}, {"y"});
    node.set_domain("ai.onnx.ml");
    Text(node, "norm", norm);
    Tensor x(ElementType::kFloat, Shape{kRows, kWidth});
    const auto values = x.mutable_values<float>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = i < kWidth ? 1.0f : 3.0f;
    std::vector<Value> results(1);
    model.Session({.providers = {{"cpu", {}}}}).Run(std::vector<Value>{x}, results);
    const std::string name = norm;
    const double width = name == "MAX" ? 1 : name == "L1" ? kWidth : std::sqrt(static_cast<double>(kWidth));
    const auto found = results[0].tensor().values<float>();
    for (const size_t at : {size_t{0}, size_t{kWidth - 1}, size_t{kWidth}, size_t{2 * kWidth - 1}}) {
      EXPECT_FLOAT_EQ(found[at], static_cast<float>(1 / width)) << norm << " " << at;
    }
  }
}

}  // namespace
}  // namespace tessera::testing
