#pragma once

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "tessera/error.h"

namespace tessera {

/// Throws Error; the arguments' types are erased, so that a failure costs its caller little code.
[[noreturn]] void FailWith(ErrorCode code, fmt::string_view format, fmt::format_args args);

template <class... Args>
[[noreturn]] void Fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  FailWith(code, format, fmt::make_format_args(args...));
}

/// Throws Error(kInvalidArgument) with the formatted message unless `condition` holds: bad inputs and attributes. Kernels
/// call it in every run: give shapes as they are, not as text.
template <class... Args>
void Require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument, format, std::forward<Args>(args)...);
  }
}

}  // namespace tessera
