#pragma once

// Everything that an application needs.
#include "tessera/error.h"    // IWYU pragma: export
#include "tessera/log.h"      // IWYU pragma: export
#include "tessera/session.h"  // IWYU pragma: export
#include "tessera/value.h"    // IWYU pragma: export
