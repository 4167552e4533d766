#pragma once

#include <cstddef>

namespace tessera {

// Of memory, on x86-64 and commonly on AArch64.
inline constexpr size_t kPage = 4096;
inline constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace tessera
