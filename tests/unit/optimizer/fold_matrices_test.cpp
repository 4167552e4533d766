#include <utility>

#include "attributes.h"
#include "optimizer/rewriting.h"
#include "waves.h"

namespace tessera::testing {
namespace {

/// y = x * f, where a Cast makes f of a matrix of 16 bits [k, 128]; `reason` says what else there is.
ModelBuilder CastMatrix(ElementType type, int64_t k, const std::string& reason = "") {
  ModelBuilder model;
  model.AnyOutput("y", ElementType::kFloat);
  std::vector<uint16_t> bits;
  for (const float value : Waves(k * 128, 0.37f))
    bits.push_back(type == ElementType::kFloat16 ? Float16(value).bits : BFloat16(value).bits);
  const auto* bytes = reinterpret_cast<const uint8_t*>(bits.data());
  model.Constant("w", reason == "batch" ? std::vector<int64_t>{1, k, 128} : std::vector<int64_t>{k, 128},
                 std::span(bytes, bits.size() * sizeof(uint16_t)), static_cast<onnx::TensorProto::DataType>(type));
  Int(model.Node("Cast", {"w"}, {"f"}), "to", static_cast<int64_t>(ElementType::kFloat));
  if (reason == "lhs") {
    model.Input("x", ElementType::kFloat, {128, 3}).Node("MatMul", {"f", "x"}, {"y"});
  } else {
    model.Input("x", ElementType::kFloat, {3, k}).Node(reason == "gemm" ? "Gemm" : "MatMul", {"x", "f"}, {"y"});
  }
  if (reason == "read") {
    model.Node("Neg", {"f"}, {"n"});
    model.AnyOutput("n", ElementType::kFloat);
  }
  if (reason == "output") model.AnyOutput("f", ElementType::kFloat);
  return model;
}

/// Large matrices of 16 bits that only products read wait for fuse_linear; afterwards they become floats.
TEST(FoldMatrices, ThatProductsRead) {
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBFloat16}) {
    for (const std::string product : {"MatMul", "Gemm"}) {
      const ModelBuilder model = CastMatrix(type, 256, product == "Gemm" ? "gemm" : "");
      EXPECT_EQ(Rewriting(model, {"fold_constants"}).after(), "Cast " + product);
      const Rewriting rewriting(model, {"fold_constants", "fold_matrices"});
      EXPECT_EQ(rewriting.after(), product);
      EXPECT_EQ(rewriting.report().passes[1].changes, 1u);
      EXPECT_EQ(rewriting.Difference(), "");
    }
  }
}

/// Others do not wait.
TEST(FoldMatrices, LeavesNothingOfOthers) {
  for (const auto& [k, reason] : {std::pair<int64_t, std::string>{255, ""}, {256, "lhs"}, {256, "read"}, {256, "batch"}})
    EXPECT_EQ(Rewriting(CastMatrix(ElementType::kFloat16, k, reason), {"fold_constants"}).after().find("Cast"),
              std::string::npos)
        << reason;
  const Rewriting output(CastMatrix(ElementType::kFloat16, 256, "output"), {"fold_constants"});
  EXPECT_EQ(output.report().passes[0].changes, 1u);
  EXPECT_EQ(output.Difference(), "");
  // At other precisions products take their own types.
  const Rewriting rounded(CastMatrix(ElementType::kFloat16, 256), {"fold_constants"}, Precision::kBFloat16);
  EXPECT_EQ(rounded.after(), "MatMul");
}

/// What is no constant stays.
TEST(FoldMatrices, LeavesWhatIsGiven) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {3, 256}).Input("w", ElementType::kFloat16, {256, 128});
  model.AnyOutput("y", ElementType::kFloat);
  Int(model.Node("Cast", {"w"}, {"f"}), "to", static_cast<int64_t>(ElementType::kFloat));
  model.Node("MatMul", {"x", "f"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"fold_matrices"}).after(), "Cast MatMul");
}

}  // namespace
}  // namespace tessera::testing
