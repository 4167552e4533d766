#include "base/bools.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/cancellation.h"

namespace tessera {
namespace {

using Word = uint64_t;  // of eight bools

constexpr Word EightOf(uint8_t byte) { return Word{0x0101010101010101} * byte; }

/// One word by one would wait for the one before it.
constexpr size_t kWords = 8;
constexpr size_t kBlock = kWords * sizeof(Word);
constexpr double kReadByteNs = 0.1;

Word ToBools(Word word) {
  constexpr Word kLow = EightOf(0x7f);
  return ((((word & kLow) + kLow) | word) >> 7) & EightOf(1);
}

/// Any bit of any byte.
Word UnionOf(const std::byte* bytes, int64_t count) {
  std::array<Word, kWords> seen{};
  int64_t i = 0;
  for (; i + static_cast<int64_t>(kBlock) <= count; i += kBlock) {
    std::array<Word, kWords> block;
    std::memcpy(block.data(), bytes + i, kBlock);
    for (size_t w = 0; w < kWords; ++w) seen[w] |= block[w];
  }
  Word all = 0;
  for (; i < count; ++i) all |= static_cast<Word>(bytes[i]);
  for (const Word word : seen) all |= word;
  return all;
}

}  // namespace

bool ArePlainBools(std::span<const std::byte> bytes) {
  bool plain = true;
  InCancellablePieces(0, static_cast<int64_t>(bytes.size()), kReadByteNs, [&](int64_t begin, int64_t end) {
    plain = plain && (UnionOf(bytes.data() + begin, end - begin) & EightOf(0xfe)) == 0;
  });
  return plain;
}

void CopyAsPlainBools(std::span<const std::byte> bytes, std::byte* to) {
  InCancellablePieces(0, static_cast<int64_t>(bytes.size()), kReadByteNs, [&](int64_t begin, int64_t end) {
    constexpr auto kStep = static_cast<int64_t>(sizeof(Word));
    for (; begin + kStep <= end; begin += kStep) {
      Word word;
      std::memcpy(&word, bytes.data() + begin, sizeof word);
      word = ToBools(word);
      std::memcpy(to + begin, &word, sizeof word);
    }
    for (; begin < end; ++begin)
      to[begin] = bytes[static_cast<size_t>(begin)] != std::byte{0} ? std::byte{1} : std::byte{0};
  });
}

}  // namespace tessera
