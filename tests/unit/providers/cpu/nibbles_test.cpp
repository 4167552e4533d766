// Quantized values of 4 bits give the same on every instruction set.

#include "kernels/gemm/nbits/nibbles.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "on_each_target.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kMostValues = 140;

TEST(Nibbles, BecomeNumbersAtEveryLength) {
  std::mt19937 random(3);
  std::vector<float> scales(kMostValues);
  for (float& scale : scales) scale = static_cast<float>(random() % 1000) / 777 - 0.3f;
  testing::OnEachTarget([&] {
    for (int64_t count = 0; count <= kMostValues; ++count) {
      std::vector<uint8_t> packed(static_cast<size_t>((count + 1) / 2));  // of its own, so that reading behind it is seen
      for (uint8_t& byte : packed) byte = static_cast<uint8_t>(random());
      for (const int64_t step : {0, 1}) {
        std::vector<float> y(static_cast<size_t>(count + 1), 99.0f);
        DequantizeNibbles(packed.data(), scales.data(), step, y.data(), count);
        EXPECT_EQ(y.back(), 99.0f) << "written behind the end";
        for (int64_t i = 0; i < count; ++i) {
          const int q = packed[static_cast<size_t>(i / 2)] >> (i % 2 * 4) & 15;
          EXPECT_EQ(y[static_cast<size_t>(i)], (static_cast<float>(q) - 8) * scales[static_cast<size_t>(i * step)])
              << i << " of " << count;
        }
      }
    }
  });
}

TEST(Nibbles, ArePackedAtEveryLength) {
  std::mt19937 random(4);
  testing::OnEachTarget([&] {
    for (int64_t count = 0; count <= kMostValues; ++count) {
      std::vector<uint8_t> quantized(static_cast<size_t>(count)), packed(static_cast<size_t>((count + 1) / 2 + 1), 7);
      for (uint8_t& q : quantized) q = static_cast<uint8_t>(random() % 16);
      PackNibbles(quantized.data(), count, packed.data());
      EXPECT_EQ(packed.back(), 7) << "written behind the end";
      if (count % 2 != 0) quantized.push_back(8);
      for (size_t i = 0; i < quantized.size(); ++i)
        EXPECT_EQ(packed[i / 2] >> (i % 2 * 4) & 15, quantized[i]) << i << " of " << count;
    }
  });
}

}  // namespace
}  // namespace tessera::cpu
