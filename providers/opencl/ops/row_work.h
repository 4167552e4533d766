#pragma once

// How work items share rows that are normalized: groups have one on GPUs, items of processors several. See
// normalization.cl.

#include <algorithm>

#include "opencl/device/kernel.h"

namespace tessera::opencl {

inline constexpr size_t kRowLanes = 64;
inline constexpr int64_t kRowStep = 16;

/// What kernels over rows are compiled with.
inline std::string RowDefines(const KernelInfo& info) {
  constexpr int64_t kKeptOfRow = 2048;
  return SettingsOf(info).tiles ? fmt::format("#define LANES {}\n", kRowLanes)
                                : fmt::format("#define STEP {}\n#define KEPT {}\n", kRowStep, kKeptOfRow);
}

/// Rows of so many elements that an item of a processor has.
inline int64_t RowsTogether(int64_t elements) {
  constexpr int64_t kElementsOfItem = 2048;
  return std::max<int64_t>(kElementsOfItem / std::max<int64_t>(elements, 1), 1);
}

}  // namespace tessera::opencl
