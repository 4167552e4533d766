#pragma once

// Lists that go into arrays of the client's.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/check.h"

namespace tessera::c_abi {

/// Throws Error(kInvalidArgument) unless the client's array at `to` takes `count` elements.
inline void RequireRoom(const void* to, size_t room, size_t count, std::string_view what) {
  Require(room >= count, "there are {} {}, and room for {}", count, what, room);
  Require(to != nullptr || count == 0, "the array for {} {} is null", count, what);
}

template <class T>
void CopyList(std::span<const T* const> from, const T** to, size_t room, std::string_view what) {
  RequireRoom(to, room, from.size(), what);
  std::ranges::copy(from, to);
}

}  // namespace tessera::c_abi
