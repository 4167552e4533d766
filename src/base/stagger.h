#pragma once

// Large buffers start at different places within a page: streams through several that start at the same one would fight for
// the same sets of the first-level cache.

#include <cstddef>

namespace tessera {

/// Buffers from this size on are worth the extra bytes.
inline constexpr size_t kStaggerFrom = size_t{256} << 10;
/// An odd number of cache lines, so that it visits every line of a page, far from those of the buffers just before.
inline constexpr size_t kStagger = 17 * 64;

}  // namespace tessera
