#pragma once

// Whether a session can compute at the precision that it may.

#include "base/log.h"
#include "base/precision.h"
#include "tessera/session.h"

namespace tessera {

/// `requested`, or float32, with a warning that names what this processor lacks.
Precision UsablePrecision(Precision requested, const Logger& log);

/// Warns when convolutions, products, attention or recurrent operators run in the session, but none at its precision.
void CheckPrecisionUsed(Precision precision, const PlacementReport& placement, const Logger& log);

}  // namespace tessera
