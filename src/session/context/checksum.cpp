#include "session/context/checksum.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/rounding.h"
#include "tessera/thread_pool.h"

namespace tessera {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;

/// One to one in `lane` and in `word`.
uint64_t Mix(uint64_t lane, uint64_t word) noexcept {
  lane = (lane ^ word) * kOdd;
  return lane ^ (lane >> 32);
}

}  // namespace

uint64_t Checksum(std::span<const std::byte> bytes) noexcept {
  constexpr size_t kLanes = 8;
  std::array<uint64_t, kLanes> lanes;
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = kOdd * (i + 1);
  size_t at = 0;
  for (; at + sizeof(lanes) <= bytes.size(); at += sizeof(lanes)) {
    std::array<uint64_t, kLanes> words;
    std::memcpy(words.data(), bytes.data() + at, sizeof(words));
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = Mix(lanes[i], words[i]);
  }
  uint64_t sum = Mix(0, bytes.size());
  for (const uint64_t lane : lanes) sum = Mix(sum, lane);
  while (at < bytes.size()) {
    uint64_t word = 0;
    const size_t count = std::min(sizeof(word), bytes.size() - at);
    std::memcpy(&word, bytes.data() + at, count);
    sum = Mix(sum, word);
    at += count;
  }
  return sum;
}

std::vector<uint64_t> PartChecksums(std::span<const std::byte> bytes, ThreadPool& threads) {
  std::vector<uint64_t> sums(CeilDiv(bytes.size(), kChecksumPart));
  constexpr double kNanoseconds = 100e3;  // a part, page faults included
  threads.ParallelFor(static_cast<int64_t>(sums.size()), kNanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto rest = bytes.subspan(static_cast<size_t>(i) * kChecksumPart);
      sums[static_cast<size_t>(i)] = Checksum(rest.first(std::min(kChecksumPart, rest.size())));
    }
  });
  return sums;
}

}  // namespace tessera
