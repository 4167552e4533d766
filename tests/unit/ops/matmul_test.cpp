#include "ops/math/matmul.h"

#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul_nbits.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(MatMulShape, Broadcasts) {
  const MatMulShape shape = InferMatMulShape({2, 1, 3, 4}, {5, 4, 6});
  EXPECT_EQ(shape.output, Shape({2, 5, 3, 6}));
  EXPECT_EQ(InferMatMulShape({4}, {4}).output, Shape());
  EXPECT_EQ(InferMatMulShape({4}, {2, 4, 3}).output, Shape({2, 3}));
  EXPECT_THAT(ErrorOf([] { InferMatMulShape({2, 3}, {4, 5}); }), HasSubstr("K is 3 in A [2,3] and 4 in B [4,5]"));
  EXPECT_THAT(ErrorOf([] { InferMatMulShape({2, 3, 4}, {3, 4, 5}); }), HasSubstr("do not broadcast"));
  EXPECT_THAT(ErrorOf([] { InferMatMulShape(Shape(), {4}); }), HasSubstr("scalars"));
}

TEST(GemmAttributes, SizesAndAddend) {
  const GemmAttributes plain(NodeOf("Gemm", 13)),
      transposed(NodeOf("Gemm", 7, {{"transA", int64_t{1}}, {"transB", int64_t{1}}}));
  EXPECT_EQ(plain.alpha, 1);
  EXPECT_EQ(plain.beta, 1);
  const GemmSizes sizes = transposed.Infer({4, 3}, {5, 4});
  EXPECT_EQ(sizes.m, 3);
  EXPECT_EQ(sizes.n, 5);
  EXPECT_EQ(sizes.k, 4);
  EXPECT_THAT(ErrorOf([&] { plain.Infer({4, 3}, {5, 4}); }), HasSubstr("K is 3"));
  EXPECT_THAT(ErrorOf([&] { plain.Infer({4}, {4, 5}); }), HasSubstr("must be matrices"));
  struct Case {
    Shape c;
    int64_t row, column;
  };
  for (const auto& [c, row, column] : {Case{Shape(), 0, 0}, Case{{1}, 0, 0}, Case{{5}, 0, 1}, Case{{3, 1}, 1, 0},
                                       Case{{1, 5}, 0, 1}, Case{{3, 5}, 5, 1}}) {
    EXPECT_EQ(BroadcastAddend(c, 3, 5).row, row) << c.ToString();
    EXPECT_EQ(BroadcastAddend(c, 3, 5).column, column) << c.ToString();
  }
  EXPECT_THAT(ErrorOf([] { BroadcastAddend({4}, 3, 5); }), HasSubstr("C [4] does not broadcast to [3,5]"));
}

TEST(FusedMatMulAttributes, ArrangesOperands) {
  const FusedMatMulAttributes attributes(
      NodeOf("FusedMatMul", 1, {{"transBatchA", int64_t{1}}, {"transB", int64_t{1}}}, "com.microsoft"));
  Shape a{2, 3, 4, 5}, b{2, 3, 4, 5};
  attributes.a.Arrange(a, 4);
  attributes.b.Arrange(b, 4);
  EXPECT_EQ(a, Shape({3, 4, 2, 5}));
  EXPECT_EQ(b, Shape({2, 3, 5, 4}));
}

TEST(MatMulNBitsAttributes, SizesAndRefusals) {
  const auto node_of = [](int64_t k, int64_t n, int64_t bits, int64_t block) {
    return NodeOf("MatMulNBits", 1, {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}}, "com.microsoft");
  };
  const MatMulNBitsAttributes attributes(node_of(33, 7, 4, 16));
  EXPECT_EQ(attributes.blocks, 3);
  EXPECT_EQ(attributes.block_bytes(), 8);
  EXPECT_EQ(attributes.zero_row_bytes(), 2);
  EXPECT_EQ(attributes.ResultShape({2, 33}), Shape({2, 7}));
  EXPECT_THAT(ErrorOf([&] { attributes.ResultShape({2, 32}); }), HasSubstr("K is 33"));
  const Tensor scales = Tensor::Of<float>({21}, std::vector<float>(21)),
               values = Tensor::Of<uint8_t>({7, 3, 8}, std::vector<uint8_t>(168)),
               zeros = Tensor::Of<uint8_t>({14}, std::vector<uint8_t>(14));
  attributes.Check(values, scales, &zeros, nullptr, ElementType::kFloat);
  attributes.Check(values, scales, &scales, nullptr, ElementType::kFloat);
  EXPECT_THAT(ErrorOf([&] { attributes.Check(zeros, scales, nullptr, nullptr, ElementType::kFloat); }),
              HasSubstr("B is [14]"));
  EXPECT_THAT(ErrorOf([&] { attributes.Check(values, scales, &values, nullptr, ElementType::kFloat); }),
              HasSubstr("zero_points is"));
  EXPECT_THAT(ErrorOf([&] { MatMulNBitsAttributes{node_of(33, 7, 3, 16)}; }), HasSubstr("bits is 3"));
  EXPECT_THAT(ErrorOf([&] { MatMulNBitsAttributes{node_of(33, 7, 4, 24)}; }), HasSubstr("block_size is 24"));
  EXPECT_THAT(ErrorOf([&] { MatMulNBitsAttributes{node_of(0, 7, 4, 16)}; }), HasSubstr("K is 0"));
}

}  // namespace
}  // namespace tessera::testing
