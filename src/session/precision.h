#pragma once

// Whether a session can compute at the precision that it may.

#include "base/log.h"
#include "base/precision.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/session.h"

namespace tessera {

/// `requested` by `setting` ("session.precision"), or float32, with a warning that names what this processor or build
/// lacks.
Precision UsablePrecision(Precision requested, std::string_view setting, const Logger& log);

/// Whether the provider can be asked for it.
bool Offers(const ProviderFactory& provider, std::string_view precision);

/// Warns when convolutions, matmuls, attention or recurrent operators run in the session, but none at its precision.
void CheckPrecisionUsed(Precision precision, const PlacementReport& placement, const Logger& log);

}  // namespace tessera
