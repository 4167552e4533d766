// Panels of an implicit matrix: every row holds what its segments name, and nothing behind the panel is touched.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/conv/nchw/conv.h"

namespace tessera::cpu {
namespace {

template <class T>
class ConvPanel : public ::testing::Test {};
using PanelTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ConvPanel, PanelTypes);

TYPED_TEST(ConvPanel, EndsWhereItEnds) {
  constexpr size_t kBehind = 64;
  std::vector<TypeParam> base(256);
  for (size_t i = 0; i < base.size(); ++i) base[i] = static_cast<TypeParam>(i + 1);
  for (const bool exact : {false, true}) {
    for (const int64_t rows : {1, 2, 9, 25}) {
      for (int64_t width = 1; width <= 40; ++width) {
        std::vector<int64_t> offsets;
        for (int64_t row = 0; row < rows; ++row) offsets.push_back(row * 3);
        std::vector<ConvSegment> segments = {{5, 0, (width + 1) / 2}};
        if (width > 1) segments.push_back({60, (width + 1) / 2, width / 2});
        const auto size = static_cast<size_t>(rows * width);
        std::vector<TypeParam> out(size + kBehind, TypeParam{-1}), expected;
        CopyConvPanel<TypeParam>(base.data(), offsets.data(), rows, segments, width, exact, out.data());
        for (const int64_t offset : offsets) {
          for (const ConvSegment& segment : segments) {
            const auto from = base.begin() + offset + segment.from;
            expected.insert(expected.end(), from, from + segment.length);
          }
        }
        expected.resize(size + kBehind, TypeParam{-1});
        EXPECT_EQ(out, expected) << rows << " rows of " << width << (exact ? ", exact" : "");
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
