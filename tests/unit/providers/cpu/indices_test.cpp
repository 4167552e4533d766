// Indices counted from the front, at every count around the vectors' and with one outside at every place.

#include "kernels/transpose/indices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace tessera::cpu {
namespace {

template <class Index>
class Positions : public ::testing::Test {};
using IndexTypes = ::testing::Types<int32_t, int64_t>;
TYPED_TEST_SUITE(Positions, IndexTypes);

template <class Index>
std::vector<Index> Indices(int64_t count, int64_t size) {
  std::vector<Index> indices;
  for (int64_t i = 0; i < count; ++i) indices.push_back(static_cast<Index>(i * 7 % (2 * size) - size));
  return indices;
}

TYPED_TEST(Positions, CountsFromTheFront) {
  constexpr int64_t kSize = 5;
  for (int64_t count = 0; count <= 40; ++count) {
    const std::vector<TypeParam> indices = Indices<TypeParam>(count, kSize);
    std::vector<int64_t> positions(indices.size(), -1);
    EXPECT_TRUE(PositionsOf(indices.data(), count, kSize, positions.data()));
    for (size_t i = 0; i < indices.size(); ++i)
      EXPECT_EQ(positions[i], indices[i] < 0 ? indices[i] + kSize : indices[i]) << i;
  }
}

TYPED_TEST(Positions, RefusesWhatLiesOutside) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{1000}}) {
    for (const int64_t index : {int64_t{Limits::min()}, int64_t{Limits::max()}, size, -size - 1}) {
      for (int64_t count = 1; count <= 20; ++count) {
        for (int64_t at = 0; at < count; ++at) {
          if (size == 0 && count > 1) continue;  // every index is outside
          std::vector<TypeParam> indices(static_cast<size_t>(count), 0);
          indices[static_cast<size_t>(at)] = static_cast<TypeParam>(index);
          std::vector<int64_t> positions(indices.size());
          EXPECT_FALSE(PositionsOf(indices.data(), count, size, positions.data()))
              << index << " at " << at << " of " << count;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
