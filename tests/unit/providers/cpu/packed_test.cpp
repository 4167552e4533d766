// Packing of 4- and 2-bit elements: every start within a byte, every length around the eight that a word does at once.

#include "cpu/engine/packed.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::cpu {
namespace {

template <int kBits>
void RoundTrip() {
  constexpr int kPerByte = 8 / kBits;
  for (int64_t begin = 0; begin < 9; ++begin) {
    for (int64_t count = 0; count < 40; ++count) {
      std::vector<uint8_t> bytes(static_cast<size_t>((begin + count) / kPerByte + 1), 0xff);
      std::vector<uint8_t> quantized(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) quantized[static_cast<size_t>(i)] = static_cast<uint8_t>(i * 7 + begin * 31);
      Pack<kBits>(quantized.data(), begin, count, bytes.data());
      for (int64_t i = 0; i < begin; ++i) EXPECT_EQ(LoadPacked<kBits>(bytes.data(), i), (1 << kBits) - 1);
      std::vector<uint8_t> plain(quantized.size()), extended(quantized.size());
      Unpack<kBits>(bytes.data(), begin, count, false, plain.data());
      Unpack<kBits>(bytes.data(), begin, count, true, extended.data());
      for (int64_t i = 0; i < count; ++i) {
        const size_t at = static_cast<size_t>(i);
        const int q = quantized[at] & ((1 << kBits) - 1);
        const int value = q >= 1 << (kBits - 1) ? q - (1 << kBits) : q;
        ASSERT_EQ(LoadPacked<kBits>(bytes.data(), begin + i), q) << begin << " " << count << " " << i;
        ASSERT_EQ(plain[at], q) << begin << " " << count << " " << i;
        ASSERT_EQ(static_cast<int8_t>(extended[at]), value) << begin << " " << count << " " << i;
      }
    }
  }
}

TEST(Packed, FourBitsRoundTrip) { RoundTrip<4>(); }
TEST(Packed, TwoBitsRoundTrip) { RoundTrip<2>(); }

}  // namespace
}  // namespace tessera::cpu
