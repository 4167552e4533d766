// Shapes: what they count, and what they refuse to count.

#include "tessera/shape.h"

#include <gtest/gtest.h>

#include <limits>

#include "error_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape{}.num_elements(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).num_elements(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).num_elements(), 0);
  EXPECT_EQ((Shape{int64_t{1} << 24, int64_t{1} << 24}).num_elements(), Shape::kMostElements);
  EXPECT_EQ((Shape{0, Shape::kMostElements}).num_elements(), 0);
}

TEST(Shape, RefusesWhatNoMemoryHoldsBesideADimensionOfZeroToo) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_NE(ErrorOf([] { (void)Shape{2, -1}.num_elements(); }).find("negative"), std::string::npos);
  for (const Shape& shape :
       {Shape{Shape::kMostElements, 2}, Shape{kHuge}, Shape{kHuge, kHuge}, Shape{0, kHuge}, Shape{1 << 30, 0, 1 << 30}}) {
    EXPECT_NE(ErrorOf([&] { (void)shape.num_elements(); }).find("asks for more than"), std::string::npos)
        << shape.ToString();
  }
}

/// Dimensions come one by one: room for them grows by more than that.
TEST(Shape, AppendsManyDimensions) {
  Shape shape, copy;
  for (int64_t i = 0; i < 300'000; ++i) shape.Append(i);
  copy = shape;
  copy.Append(7);
  ASSERT_EQ(copy.rank(), 300'001u);
  for (size_t i = 0; i < 300'000; ++i) ASSERT_EQ(copy[i], static_cast<int64_t>(i));
  EXPECT_EQ(copy.back(), 7);
  Shape eight(8, 1);  // as many as lie inside it
  eight.Append(2);
  EXPECT_EQ(eight, (Shape{1, 1, 1, 1, 1, 1, 1, 1, 2}));
}

TEST(Shape, RefusesTensorsOfHundredsOfDimensions) {
  EXPECT_EQ(Shape(size_t{64}, 1).num_elements(), 1);
  EXPECT_NE(ErrorOf([] { (void)Shape(size_t{65}, 1).num_elements(); }).find("65 dimensions"), std::string::npos);
}

TEST(Shape, TextsTellOfAFewDimensions) {
  const std::string told = "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
  EXPECT_EQ((Shape{2, 3}.ToString()), "[2,3]");
  EXPECT_EQ(Shape{}.ToString(), "[]");
  EXPECT_EQ(Shape(size_t{16}, 1).ToString(), told + "]");
  EXPECT_EQ(Shape(size_t{1024}, 1).ToString(), told + ",... (1024 dimensions)]");
  EXPECT_EQ(ToString(SymbolicShape(17, {1, ""})), told + ",... (17 dimensions)]");
  EXPECT_EQ(ToString({{-1, "batch"}, {3, ""}, {-1, ""}}), "[batch,3,?]");
  EXPECT_LT(ToString({{-1, std::string(1 << 20, 'n')}}).size(), 400u);
}

}  // namespace
}  // namespace tessera
