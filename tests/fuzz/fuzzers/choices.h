#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace tessera::fuzz {

/// Decisions read off a fuzzer's input, byte after byte; zeros once it has ended.
class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) noexcept : rest_(bytes) {}

  bool done() const noexcept { return rest_.empty(); }
  uint8_t Byte() noexcept { return Number<uint8_t>(); }
  bool Flag() noexcept { return (Byte() & 1) != 0; }
  /// Below `n`, which is at most 256; 0 where it is 0.
  size_t Below(size_t n) noexcept { return n == 0 ? 0 : Byte() % n; }
  template <class T>
  T Number() noexcept {
    T value{};
    const auto from = Take(sizeof(T));
    std::memcpy(&value, from.data(), from.size());
    return value;
  }
  /// A byte says how long it is.
  std::string Text() {
    const auto from = Take(Byte());
    return {from.begin(), from.end()};
  }
  std::span<const uint8_t> Rest() noexcept { return Take(rest_.size()); }

 private:
  std::span<const uint8_t> Take(size_t bytes) noexcept {
    const auto taken = rest_.first(std::min(bytes, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  std::span<const uint8_t> rest_;
};

}  // namespace tessera::fuzz
