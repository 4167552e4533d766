#pragma once

// What every entry of the C ABI is made of.

#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "onnxruntime/onnxruntime_ep_c_api.h"
#include "tessera/error.h"

namespace tessera::c_abi {

/// A status for the client to release; one that says that memory ran out where there is none for the text.
OrtStatusPtr NewStatus(OrtErrorCode code, std::string_view text) noexcept;
/// Of the exception that is being handled.
OrtStatusPtr StatusOfException() noexcept;

/// Runs an entry's work: nothing that it throws crosses into the client. Entries themselves are noexcept, and what the
/// client is called back by is not, so that its exceptions end here, too.
template <class Body>
OrtStatusPtr Guarded(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return nullptr;
  } catch (...) {
    return StatusOfException();
  }
}

[[noreturn]] void FailNull(std::string_view what);
[[noreturn]] void FailGone(std::string_view what);

/// What the client gives and may not leave out. What has a mark is looked at, so that a handle that was released or that is
/// of another kind is an error.
template <class T>
T& Given(T* pointer, std::string_view what) {
  if (pointer == nullptr) [[unlikely]]
    FailNull(what);
  static_assert(!std::is_class_v<T> || sizeof(T) > 0, "include what says whether it has a mark");
  if constexpr (Marked<T>) {
    if (!pointer->mark.Holds()) [[unlikely]]
      FailGone(what);
  }
  return *pointer;
}

/// Puts what `make` gives into the client's pointer, which is looked at first: nothing is made that nobody could release.
template <class T, class Make>
void Give(T* out, const Make& make) {
  T& target = Given(out, "out");
  target = make();
}

/// An entry that makes what `out` is for.
template <class T, class Make>
OrtStatusPtr Making(T* out, const Make& make) noexcept {
  return Guarded([&] { Give(out, make); });
}

/// Throws what a callback of the client's answered, and releases it; null: nothing.
void ThrowIfFailed(OrtStatusPtr status);

/// Empty where the client gives none.
inline std::string TextOf(const char* text) { return text == nullptr ? std::string() : std::string(text); }

/// A copy of the text, allocated by the client's allocator and ended by a zero.
char* CopyText(std::string_view text, OrtAllocator* allocator);
/// Copies of texts and an array of them, all allocated by the client's allocator; null for no texts.
char** CopyTexts(std::span<const std::string> texts, OrtAllocator* allocator);
/// The two-call pattern: `*size` becomes what the text needs, its zero included; `out` null asks for that only.
void CopyOut(std::string_view text, char* out, size_t* size);

// Each entry is a function of the type that its member of the table has. The type goes without the attribute that a status
// must be looked at.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
#define ENTRY(name) std::remove_pointer_t<decltype(OrtApi::name)> name;
#define LATER(name, advice)
#define ABSENT(name, provider)
#include "bindings/c/ort_api.inc"
#undef ENTRY
#define ENTRY(name) std::remove_pointer_t<decltype(OrtInteropApi::name)> name;
#include "bindings/c/interop_api.inc"
#undef ENTRY
#define ENTRY(name) std::remove_pointer_t<decltype(OrtEpApi::name)> name;
#include "bindings/c/ep_api.inc"
#undef ENTRY
#define ENTRY(name) std::remove_pointer_t<decltype(OrtModelEditorApi::name)> name;
#include "bindings/c/model_editor_api.inc"
#undef ENTRY
#define ENTRY(name) std::remove_pointer_t<decltype(OrtCompileApi::name)> name;
#include "bindings/c/compile_api.inc"
#undef ENTRY
#define ENTRY(name) std::remove_pointer_t<decltype(OrtModelPackageApi::name)> name;
#include "bindings/c/model_package_api.inc"
#undef ENTRY
#undef LATER
#undef ABSENT
#pragma GCC diagnostic pop

}  // namespace tessera::c_abi
