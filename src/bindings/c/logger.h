#pragma once

#include "base/log.h"

/// What providers and kernels of clients write to the log by.
struct OrtLogger {
  tessera::Logger logger;
};
