#pragma once

#include <string>

#include "tessera/session.h"

namespace tessera::inspect {

/// Ten lines at most: nodes by provider, copies, and the reasons for which others were refused, the most frequent first.
std::string Summarize(const PlacementReport& report);

}  // namespace tessera::inspect
