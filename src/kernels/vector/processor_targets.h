#pragma once

#include <cstdint>

namespace tessera::cpu {

/// Highway's targets of kernels/vector/targets.h that this processor and its operating system run, and the baseline.
int64_t ProcessorTargets();

}  // namespace tessera::cpu
