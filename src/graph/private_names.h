#pragma once

// The names that Tessera keeps to itself. Its optimizer writes operators and attributes of these names for kernels that
// rely on what it has checked, so that no model file may bring its own: the loader refuses them, and a context, which
// Tessera writes, keeps them.

#include <string_view>

namespace tessera {

/// Domain of the operators that rewrites make.
inline constexpr std::string_view kTesseraDomain = "ai.tessera";

/// Domain of nodes that stand for what a provider compiles as a whole.
inline constexpr std::string_view kFusedDomain = "tessera.fused";

/// Of operators whose first input and output have channels last, for providers that want them so; all else is as ai.onnx
/// says. ONNX Runtime calls them so, too.
inline constexpr std::string_view kChannelsLastDomain = "com.ms.internal.nhwc";

inline bool IsPrivateDomain(std::string_view domain) noexcept {
  return domain == kTesseraDomain || domain == "tessera" || domain.starts_with("ai.tessera.") ||
         domain.starts_with("tessera.");
}

inline bool IsPrivateAttribute(std::string_view name) noexcept { return name.starts_with("tessera_"); }

}  // namespace tessera
