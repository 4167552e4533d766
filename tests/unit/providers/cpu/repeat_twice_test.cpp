// Rows of elements that are each written twice, at every length around the vectors'.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/image/resample.h"

namespace tessera::cpu {
namespace {

TEST(RepeatTwice, WritesEveryElementTwiceInEveryRow) {
  for (const size_t bytes : {1, 2, 4, 8}) {
    const RepeatTwice repeat = FindRepeatTwice(bytes);
    ASSERT_NE(repeat, nullptr);
    for (size_t n = 0; n <= 140; ++n) {
      for (const size_t rows : {1, 2, 3}) {
        std::vector<uint8_t> elements(n * bytes);
        for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<uint8_t>(i * 37 + 1);
        std::vector<uint8_t> expected;
        for (size_t i = 0; i < rows * 2 * n; ++i) {
          const auto from = elements.begin() + static_cast<std::ptrdiff_t>(i % (2 * n) / 2 * bytes);
          expected.insert(expected.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
        }
        std::vector<uint8_t> written(expected.size());
        repeat(elements.data(), static_cast<int64_t>(n), written.data(), static_cast<int64_t>(rows));
        EXPECT_EQ(written, expected) << n << " elements of " << bytes << " bytes, " << rows << " rows";
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
