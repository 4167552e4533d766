#pragma once

#include <string_view>

namespace tessera {

/// The operator of com.microsoft whose nodes hold, or name, what a provider compiled ahead of time.
inline constexpr std::string_view kCompiledPart = "EPContext";

/// Whether nodes of the operator may have attributes beside its schema's: of those, providers make what they like. Of other
/// operators such attributes are told and left out.
inline bool TakesAnyAttribute(std::string_view op_type) { return op_type == kCompiledPart; }

}  // namespace tessera
