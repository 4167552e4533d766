#include "base/seeded_hash.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>

// Names are short: a call would take longer than their hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tessera {
namespace {

/// What XXH3 mixes its input with: random numbers that nobody knows, so that nobody can tell which inputs give the same.
class Secret {
 public:
  Secret() {
    const auto filled = std::max<ssize_t>(getrandom(bytes_.data(), bytes_.size(), 0), 0);
    if (filled == static_cast<ssize_t>(bytes_.size())) return;
    // Without the system's random numbers the time and where this process was loaded are the best that there is.
    const auto now = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    XXH3_generateSecret_fromSeed(bytes_.data(), now ^ reinterpret_cast<uintptr_t>(&bytes_));
  }

  uint64_t Hash(const void* bytes, size_t size) const noexcept {
    return XXH3_64bits_withSecret(bytes, size, bytes_.data(), bytes_.size());
  }

 private:
  alignas(64) std::array<std::byte, XXH3_SECRET_DEFAULT_SIZE> bytes_;
};

}  // namespace

uint64_t SeededHash(const void* bytes, size_t size, uint64_t state) noexcept {
  static const Secret secret;
  const uint64_t hash = secret.Hash(bytes, size);
  if (state == 0) return hash;
  const std::array both = {state, hash};
  return secret.Hash(both.data(), sizeof(both));
}

}  // namespace tessera
