#pragma once

#include <algorithm>
#include <chrono>

namespace tessera {

/// The timeout, or a hundred years where it is longer: a clock that counts nanoseconds does not reach much further.
inline std::chrono::milliseconds InClockRange(std::chrono::milliseconds timeout) noexcept {
  constexpr std::chrono::milliseconds kHundredYears = std::chrono::hours(24 * 365 * 100);
  return std::min(timeout, kHundredYears);
}

}  // namespace tessera
