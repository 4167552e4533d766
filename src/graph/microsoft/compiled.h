#pragma once

#include <string_view>

namespace tessera {

/// The operator of com.microsoft whose nodes hold, or name, what a provider compiled ahead of time.
inline constexpr std::string_view kCompiledPart = "EPContext";

}  // namespace tessera
