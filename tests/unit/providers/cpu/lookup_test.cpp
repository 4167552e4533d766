// Tables of bytes give what they hold, whatever instructions find it.

#include "kernels/quantize/lookup.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tessera::cpu {
namespace {

TEST(Lookup, EveryValueAtEveryLength) {
  std::mt19937 random(1);
  std::vector<uint8_t> table(256);
  for (uint8_t& entry : table) entry = static_cast<uint8_t>(random());
  for (size_t length = 0; length <= 330; ++length) {
    std::vector<uint8_t> quantized(length), expected(length);
    for (size_t i = 0; i < length; ++i) {
      quantized[i] = static_cast<uint8_t>(i * 7 + length);
      expected[i] = table[quantized[i]];
    }
    std::vector<uint8_t> found(length + 1, 9);
    LookUpBytes(table.data(), quantized.data(), static_cast<int64_t>(length), found.data());
    EXPECT_EQ(found.back(), 9) << "written behind the end";
    found.pop_back();
    EXPECT_EQ(found, expected);
    LookUpBytes(table.data(), quantized.data(), static_cast<int64_t>(length), quantized.data());
    EXPECT_EQ(quantized, expected) << "in place";
  }
}

}  // namespace
}  // namespace tessera::cpu
