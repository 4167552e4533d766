// Largest and smallest of rows of every length round those of vectors, wherever they stand, NaNs included.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/reduce/fold.h"

namespace tessera::cpu {
namespace {

template <class T>
class FoldRows : public ::testing::Test {
 protected:
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN(), kInfinity = std::numeric_limits<T>::infinity();

  /// Folds `rows` rows of `count` numbers, which stand `stride` apart, and compares.
  static void Check(const std::vector<T>& x, int64_t rows, int64_t stride, int64_t count) {
    for (const Fold fold : {Fold::kMax, Fold::kMin}) {
      std::vector<Wide<T>> found(static_cast<size_t>(rows), FoldIdentity<Wide<T>>(fold));
      FoldKernelsOf<T>(fold).rows(x.data(), rows, stride, count, nullptr, found.data());
      for (int64_t r = 0; r < rows; ++r) {
        const T* row = x.data() + r * stride;
        const T expected = std::any_of(row, row + count, [](T v) { return std::isnan(v); }) ? kNan
                           : fold == Fold::kMax ? *std::max_element(row, row + count)
                                                : *std::min_element(row, row + count);
        const auto value = static_cast<T>(found[static_cast<size_t>(r)]);
        ASSERT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)))
            << value << ", not " << expected << ", in row " << r << " of " << count;
      }
    }
  }
};

using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FoldRows, RealTypes);

TYPED_TEST(FoldRows, EveryLengthWithTheResultAtEveryPlace) {
  std::mt19937 random(1);
  std::uniform_real_distribution<TypeParam> numbers(-2, 2);
  for (int64_t count = 1; count <= 70; ++count) {
    // Row r holds its largest number at place r; what lies between the rows is larger and smaller yet.
    std::vector<TypeParam> x(static_cast<size_t>(count * (count + 2)));
    for (TypeParam& v : x) v = numbers(random);
    for (int64_t r = 0; r < count; ++r) {
      x[static_cast<size_t>(r * (count + 2) + r)] = 3;
      x[static_cast<size_t>(r * (count + 2) + count)] = 9;
      x[static_cast<size_t>(r * (count + 2) + count + 1)] = -9;
    }
    this->Check(x, count, count + 2, count);
    for (TypeParam& v : x) v = -v;
    this->Check(x, count, count + 2, count);
  }
}

TYPED_TEST(FoldRows, NanAndInfinityAtEveryPlace) {
  for (int64_t count = 1; count <= 70; ++count) {
    for (const TypeParam special : {this->kNan, this->kInfinity, -this->kInfinity}) {
      std::vector<TypeParam> x(static_cast<size_t>(count * count), TypeParam{1});
      for (int64_t r = 0; r < count; ++r) x[static_cast<size_t>(r * count + r)] = special;
      this->Check(x, count, count, count);
    }
    this->Check(std::vector<TypeParam>(static_cast<size_t>(count), -this->kInfinity), 1, count, count);
    this->Check(std::vector<TypeParam>(static_cast<size_t>(count), this->kInfinity), 1, count, count);
  }
}

}  // namespace
}  // namespace tessera::cpu
