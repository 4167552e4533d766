#pragma once

#include <string>

#include "tessera/session.h"

namespace tessera::inspect {

/// Ten lines at most: the model's nodes by provider, those that nobody has to run, copies, and the reasons for which others
/// were refused, the most frequent first.
std::string Summarize(const PlacementReport& report);

}  // namespace tessera::inspect
