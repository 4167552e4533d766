#pragma once

#include <string>

#include "tessera/session.h"

namespace tessera::testing {

/// At which precision the placement says that a node runs; "not there" where no node has the name.
inline std::string PrecisionOf(const Session& session, const std::string& node) {
  const auto placement = session.placement();
  for (const auto& entry : placement.nodes) {
    if (entry.name == node) return entry.precision;
  }
  return "not there";
}

}  // namespace tessera::testing
