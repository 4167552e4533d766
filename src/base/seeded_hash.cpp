#include "base/seeded_hash.h"

#include <sys/random.h>

#include <array>
#include <chrono>
#include <cstring>

namespace tessera {
namespace {

using Keys = std::array<uint64_t, 4>;

/// Secrets of this process.
const Keys& ProcessKeys() noexcept {
  static const Keys keys = [] {
    Keys random = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93};
    Keys bits{};
    if (getrandom(bits.data(), sizeof(bits), 0) != static_cast<ssize_t>(sizeof(bits))) {
      // Without the system's random numbers the time and where this process was loaded are the best that there is.
      bits.fill(static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
                reinterpret_cast<uintptr_t>(&random));
    }
    for (size_t i = 0; i < random.size(); ++i) random[i] ^= bits[i];
    return random;
  }();
  return keys;
}

/// Both halves of the product: every bit of the factors reaches the result, and who does not know the keys in them cannot
/// tell which others give the same.
uint64_t Fold(uint64_t a, uint64_t b) noexcept {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t Load(const std::byte* from) noexcept {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

}  // namespace

uint64_t SeededHash(const void* bytes, size_t size, uint64_t state) noexcept {
  const Keys& keys = ProcessKeys();
  const auto* at = static_cast<const std::byte*>(bytes);
  uint64_t hash = Fold(state ^ keys[0], static_cast<uint64_t>(size) ^ keys[1]);
  size_t left = size;
  if (left >= 32) {
    // Two chains side by side: one would wait for its products.
    uint64_t other = hash ^ keys[3];
    for (; left >= 32; at += 32, left -= 32) {
      hash = Fold(Load(at) ^ keys[1], Load(at + 8) ^ hash);
      other = Fold(Load(at + 16) ^ keys[2], Load(at + 24) ^ other);
    }
    hash = Fold(hash ^ keys[0], other ^ keys[3]);
  }
  if (left > 0) {
    std::array<std::byte, 32> rest{};
    std::memcpy(rest.data(), at, left);
    hash = Fold(Load(rest.data()) ^ keys[1], Load(rest.data() + 8) ^ hash);
    if (left > 16) hash = Fold(Load(rest.data() + 16) ^ keys[2], Load(rest.data() + 24) ^ hash);
  }
  return Fold(hash ^ keys[2], keys[3] ^ hash >> 32);
}

}  // namespace tessera
