#pragma once

// Lists that go into arrays of the client's.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "bindings/c/entry.h"

namespace tessera::c_abi {

/// Throws Error(kInvalidArgument) unless the client's array at `to` takes `count` elements.
inline void RequireRoom(const void* to, size_t room, size_t count, std::string_view what) {
  Require(room >= count, "there are {} {}, and room for {}", count, what, room);
  Require(to != nullptr || count == 0, "the array for {} {} is null", count, what);
}

/// How many there are in a list of what `open` finds behind a handle.
template <class Handle, class View, class List>
OrtStatusPtr CountIn(const Handle* handle, const View& (*open)(const Handle*), List View::* list, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = (open(handle).*list).size(); });
}

template <class T>
void CopyList(std::span<const T* const> from, const T** to, size_t room, std::string_view what) {
  RequireRoom(to, room, from.size(), what);
  std::ranges::copy(from, to);
}

/// That list in the client's array.
template <class Handle, class View, class T>
OrtStatusPtr CopyFrom(const Handle* handle, const View& (*open)(const Handle*), std::vector<const T*> View::* list,
                      const T** to, size_t room, std::string_view what) noexcept {
  return Guarded([&] { CopyList<T>(open(handle).*list, to, room, what); });
}

}  // namespace tessera::c_abi
