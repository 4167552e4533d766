// Panels of an implicit matrix: every row holds what its segments name, and nothing behind the panel is touched.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/conv/nchw/conv.h"
#include "kernels/gemm/gemm.h"

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

/// Rows of pixels of every width, cut where a panel begins and ends, and what follows the last pixel.
TYPED_TEST(ConvPanel, OfRowsOfEveryWidth) {
  constexpr int64_t kRows = 5;
  constexpr size_t kBehind = 64;
  const int64_t columns = GemmPanelWidth<TypeParam>();
  for (int64_t width = 1; width <= 20; ++width) {
    for (int64_t pixels = 1; pixels <= columns; ++pixels) {
      std::vector<ConvSegment> segments;
      int64_t from = width / 2, farthest = 0;  // rows are two elements apart
      for (int64_t to = 0; to < pixels; from += 2) {
        const int64_t length = std::min(pixels - to, width - from % (width + 2));
        segments.push_back({from, to, length});
        to += length;
        from += length;
        farthest = from;
      }
      const std::vector<int64_t> offsets = {0, 1, 2, 7, 30};
      std::vector<TypeParam> base(static_cast<size_t>(farthest + offsets.back()));
      for (size_t i = 0; i < base.size(); ++i) base[i] = static_cast<TypeParam>(i + 1);
      std::vector<TypeParam> out(static_cast<size_t>(kRows * columns) + kBehind, TypeParam{-1}), expected;
      CopyConvPanel<TypeParam>(base.data(), offsets.data(), kRows, segments, columns, true, out.data());
      for (const int64_t offset : offsets) {
        for (const ConvSegment& segment : segments) {
          const auto begin = base.begin() + offset + segment.from;
          expected.insert(expected.end(), begin, begin + segment.length);
        }
        expected.resize(expected.size() + static_cast<size_t>(columns - pixels));
      }
      expected.resize(out.size(), TypeParam{-1});
      EXPECT_EQ(out, expected) << width << " " << pixels;
      base.resize(base.size() + kBehind);
      CopyConvPanel<TypeParam>(base.data(), offsets.data(), kRows, segments, columns, false, out.data());
      EXPECT_EQ(out, expected) << width << " " << pixels << ", with more behind";
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
