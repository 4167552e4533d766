// What a node computes, whatever its layout and whoever made it.

#include "runtime/profile/work.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tessera {
namespace {

Node Of(const std::string& op_type) {
  Node node;
  node.op_type = op_type;
  return node;
}

TEST(Work, KnowsSumsOfProducts) {
  EXPECT_EQ(ProductKindOf(Of("Conv")), ProductKind::kConvolution);
  EXPECT_EQ(ProductKindOf(Of("Nchw8cConv")), ProductKind::kConvolution);
  EXPECT_EQ(ProductKindOf(Of("FusedConv")), ProductKind::kConvolution);
  EXPECT_EQ(ProductKindOf(Of("ConvTranspose")), ProductKind::kTransposedConvolution);
  EXPECT_EQ(ProductKindOf(Of("Nchw8cConvTranspose")), ProductKind::kTransposedConvolution);
  EXPECT_EQ(ProductKindOf(Of("MatMulNBits")), ProductKind::kMatMul);
  EXPECT_EQ(ProductKindOf(Of("Relu")), ProductKind::kNone);
  EXPECT_EQ(ProductKindOf(Of("Zeta")), ProductKind::kNone);
}

TEST(Work, CountsConvolutionsByTheirDefinition) {
  const Shape image{1, 8, 6, 6}, weights{16, 8, 3, 3}, result{1, 16, 4, 4};
  const std::array<const Shape*, 2> inputs = {&image, &weights};
  const std::array<const Shape*, 1> outputs = {&result};
  EXPECT_EQ(FlopsOf(Of("Conv"), inputs, outputs), 2.0 * 16 * 4 * 4 * 8 * 9);
  const std::array<const Shape*, 2> unknown = {&image, nullptr};
  EXPECT_EQ(FlopsOf(Of("Conv"), unknown, outputs), 0);
}

}  // namespace
}  // namespace tessera
