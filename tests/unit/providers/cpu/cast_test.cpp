// ElementCast: block edges, packed targets and sources that start inside a byte, text, and where rounding twice would show.

#include "cpu/engine/cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cpu/engine/packed.h"
#include "tessera/error.h"

namespace tessera::cpu {
namespace {

template <class From, class To>
std::vector<To> Cast(const std::vector<From>& from, const CastOptions& options = {}) {
  std::vector<To> to(from.size());
  ElementCast(ElementTypeOf<From>, ElementTypeOf<To>, options)
      .Run(from.data(), 0, to.data(), 0, static_cast<int64_t>(from.size()));
  return to;
}

TEST(ElementCast, KeepsEveryElementAroundBlockEdges) {
  for (const int64_t count : {0, 1, 7, 8, 511, 512, 513, 1025}) {
    std::vector<int16_t> numbers(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = static_cast<int16_t>(i - 300);
    const auto halves = Cast<int16_t, Float16>(numbers);
    std::vector<int16_t> back(numbers.size());
    ElementCast(ElementType::kFloat16, ElementType::kInt16).Run(halves.data(), 0, back.data(), 0, count);
    EXPECT_EQ(back, numbers) << count;
  }
}

TEST(ElementCast, FloatToIntegersTruncatesAndStaysDefined) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {-1.9f, 2.9f, 300.5f, infinity, -infinity, std::nanf(""), 3e9f};
  EXPECT_EQ((Cast<float, int8_t>(x)), (std::vector<int8_t>{-1, 2, 44, 0, 0, 0, 0}));
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  EXPECT_EQ((Cast<float, int32_t>(x)), (std::vector<int32_t>{-1, 2, 300, kMin, kMin, kMin, kMin}));
  EXPECT_EQ((Cast<float, uint32_t>({3e9f, -1.0f})), (std::vector<uint32_t>{3000000000u, 0xffffffffu}));
  EXPECT_EQ((Cast<double, uint64_t>({0x1p63, 0x1.8p63, 12.5})),
            (std::vector<uint64_t>{uint64_t{1} << 63, uint64_t{3} << 62, 12}));
}

TEST(ElementCast, DoubleRoundsOnceToNarrowFloats) {
  // Just above the middle of two halves, and nearer than float can tell.
  const auto halves = Cast<double, Float16>({1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-11});
  EXPECT_EQ(static_cast<float>(halves[0]), 1.0f + 0x1p-10f);
  EXPECT_EQ(static_cast<float>(halves[1]), 1.0f);
}

TEST(ElementCast, SaturateAndRoundingReachTheTarget) {
  EXPECT_EQ((Cast<float, Float8E5M2>({1e9f}, {.saturate = true})[0].bits), 0x7b);
  EXPECT_EQ((Cast<float, Float8E5M2>({1e9f}, {.saturate = false})[0].bits), 0x7c);
  EXPECT_EQ(static_cast<float>(Cast<float, Float8E8M0>({1.1f}, {.rounding = ScaleRounding::kUp})[0]), 2.0f);
  EXPECT_EQ(static_cast<float>(Cast<float, Float8E8M0>({1.1f}, {.rounding = ScaleRounding::kDown})[0]), 1.0f);
}

TEST(ElementCast, PackedTypesStartAnywhere) {
  const std::vector<float> x = {-3, 7, 2, -8, 5, 1, 0, -1, 4};
  uint8_t packed[5] = {};
  ElementCast(ElementType::kFloat, ElementType::kInt4).Run(x.data(), 0, packed, 0, 9);
  int64_t middle[4];
  ElementCast(ElementType::kInt4, ElementType::kInt64).Run(packed, 3, middle, 0, 4);
  EXPECT_EQ(std::vector<int64_t>(middle, middle + 4), (std::vector<int64_t>{-8, 5, 1, 0}));
}

TEST(ElementCast, TextIsShortestAndReadsBack) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ((Cast<float, std::string>({0.1f, 3.0f, -0.0f, 123456.79f, 1e-7f, 1e20f, 314.25f})),
            (std::vector<std::string>{"0.1", "3.0", "-0.0", "123456.79", "1e-07", "1e+20", "314.25"}));
  EXPECT_EQ((Cast<double, std::string>({1e15, -0.25, 1e16})),
            (std::vector<std::string>{"1000000000000000.0", "-0.25", "1e+16"}));
  EXPECT_EQ((Cast<Float16, std::string>({Float16(0.1f), Float16(65504.0f)})), (std::vector<std::string>{"0.1", "65500.0"}));
  EXPECT_EQ((Cast<std::string, float>({" 1e-5 ", "+INF", "-inf", "3.14"})),
            (std::vector<float>{1e-5f, kInfinity, -kInfinity, 3.14f}));
  EXPECT_TRUE(std::isnan(Cast<std::string, double>({"NaN"})[0]));
  EXPECT_EQ((Cast<std::string, int32_t>({"100.5", "-7", "1e3"})), (std::vector<int32_t>{100, -7, 1000}));
  EXPECT_EQ((Cast<std::string, uint64_t>({"18446744073709551615"})), (std::vector<uint64_t>{~uint64_t{0}}));
  EXPECT_THROW((Cast<std::string, float>({"Hello World!"})), Error);
  EXPECT_THROW((Cast<std::string, float>({""})), Error);
  EXPECT_THROW((Cast<std::string, int64_t>({"+-3"})), Error);
}

TEST(ElementCast, RefusesComplex) { EXPECT_THROW(ElementCast(ElementType::kComplex64, ElementType::kFloat), Error); }

}  // namespace
}  // namespace tessera::cpu
