#pragma once

#include "test_case.h"

namespace tessera::runner {

/// Why published test data contradicts its own model, or nullptr when nothing is known against it. Told by name and by the
/// model file's bytes, so that a corrected release of the case runs.
const char* KnownDefect(const TestCase& test);

}  // namespace tessera::runner
