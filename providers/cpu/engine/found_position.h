#pragma once

#include <cstdint>

#include "base/check.h"

namespace tessera::cpu {

/// `position`, which vector code found among `count` elements, for those who index by it: whatever that code made of the
/// numbers, nothing outside is touched.
inline int64_t FoundPosition(int64_t position, int64_t count) {
  if (static_cast<uint64_t>(position) >= static_cast<uint64_t>(count)) [[unlikely]] {
    Fail(ErrorCode::kRuntimeException, "position {} was found among {} elements", position, count);
  }
  return position;
}

}  // namespace tessera::cpu
