#pragma once

// What runs the nodes of clients' operators in a session, on the processor.

#include <memory>
#include <span>
#include <vector>

#include "bindings/c/custom_ops.h"
#include "tessera/session.h"

namespace tessera::plugin {

inline constexpr std::string_view kOperatorProvider = "CustomOperators";

/// A request for the operators of these domains. `libraries`: what to keep as long as anything needs the operators. Throws
/// Error for operators that say what cannot be.
ProviderRequest RequestFor(std::span<const OrtCustomOpDomain* const> domains,
                           std::vector<std::shared_ptr<const void>> libraries);

}  // namespace tessera::plugin
