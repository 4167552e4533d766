#pragma once

#include <optional>

#include "tessera/error.h"
#include "tessera/provider/graph.h"

namespace tessera {

/// What passes and shape inference read of a node that a kernel may still refuse. Nothing where its attributes are wrong,
/// which the kernel says then.
template <class Attributes>
std::optional<Attributes> ValidAttributes(const Node& node) {
  try {
    return Attributes(node);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace tessera
