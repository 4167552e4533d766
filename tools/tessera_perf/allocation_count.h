#pragma once

#include <cstdint>

namespace tessera::perf {

/// Calls of operator new in this process so far, the library's included.
int64_t AllocationCount() noexcept;

}  // namespace tessera::perf
