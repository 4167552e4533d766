#pragma once

#include <cstdint>
#include <memory>

// How an entry tells a handle that is what it should be from what clients give by mistake.

namespace tessera::c_abi {

/// A number of the type, the same in every library that knows it.
template <class T>
consteval uint64_t KindOf() {
  uint64_t hash = 14695981039346656037U;
  for (const char* at = __PRETTY_FUNCTION__; *at != 0; ++at)
    hash = (hash ^ static_cast<unsigned char>(*at)) * 1099511628211U;
  return hash;
}

/// Keeps what was written to an object just before its end: compilers leave such writes out, since no correct program reads
/// them. They are for incorrect ones, which use a handle after its release.
inline void KeepLastWrites(const void* object) noexcept { __asm__ volatile("" : : "r"(object) : "memory"); }

/// A member of what clients hold by a pointer: says whether an object of this kind is there. After a release it says no
/// as long as nothing else lies in the memory, and so do memory in which nothing was made and objects of other kinds.
template <class T>
class Mark {
 public:
  constexpr bool Holds() const noexcept { return kind_ == KindOf<T>(); }
  void Clear() noexcept {
    kind_ = 0;
    KeepLastWrites(this);
  }
  constexpr bool operator==(const Mark&) const noexcept = default;

 private:
  uint64_t kind_ = KindOf<T>();
};

template <class T>
concept Marked = requires(const T& handle) { handle.mark.Holds(); };

/// Whether there is an object: for entries without a status.
template <Marked T>
bool IsThere(const T* handle) noexcept {
  return handle != nullptr && handle->mark.Holds();
}

/// What all Release functions do: null and what is no object of this kind any more are left alone.
template <Marked T>
void Release(T* handle) noexcept {
  if (!IsThere(handle)) return;
  handle->mark.Clear();
  delete handle;
}

struct ReleaseHandle {
  template <Marked T>
  void operator()(T* handle) const noexcept {
    Release(handle);
  }
};
/// What clients know by its handle and another object owns: its end is seen like a release.
template <class T>
using Owned = std::unique_ptr<T, ReleaseHandle>;

}  // namespace tessera::c_abi
