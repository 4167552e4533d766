#include "kernels/transpose/transpose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tessera::cpu {
namespace {

constexpr std::byte kUntouched{0xee};

/// A tile whose rows are `gap` bytes apart in source and destination, where nothing may change.
void ExpectTransposed(int64_t element, int64_t rows, int64_t cols, int64_t gap) {
  SCOPED_TRACE(::testing::Message() << rows << " x " << cols << " elements of " << element << " bytes, gap " << gap);
  const int64_t src_stride = cols * element + gap, dst_stride = rows * element + gap;
  // Without a byte more than there are, so that a sanitizer sees what reads or writes past the end.
  std::vector<std::byte> src(static_cast<size_t>(rows * src_stride - gap));
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::byte>(i * 37 + i / 251);
  std::vector<std::byte> dst(static_cast<size_t>(cols * dst_stride - gap), kUntouched);
  TransposeTileOf(element)(src.data(), src_stride, dst.data(), dst_stride, rows, cols);
  for (int64_t j = 0; j < cols; ++j) {
    const std::byte* row = dst.data() + j * dst_stride;
    for (int64_t i = 0; i < rows; ++i)
      ASSERT_EQ(std::memcmp(row + i * element, src.data() + i * src_stride + j * element, static_cast<size_t>(element)), 0)
          << "row " << i << ", column " << j;
    if (j + 1 < cols) {
      const std::byte* after = row + rows * element;
      ASSERT_TRUE(std::all_of(after, after + gap, [](std::byte b) { return b == kUntouched; })) << "behind column " << j;
    }
  }
}

TEST(TransposeTile, OfEverySize) {
  constexpr int64_t kMost = 40;  // more than a tile and a part of one
  for (const int64_t element : {1, 2, 4, 8, 16}) {
    for (int64_t rows = 1; rows <= kMost; ++rows) {
      for (int64_t cols = 1; cols <= kMost; ++cols) {
        for (const int64_t gap : {0, 3}) ExpectTransposed(element, rows, cols, gap);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
