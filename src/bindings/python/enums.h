#pragma once

#include <nanobind/nanobind.h>

namespace tessera::python {

enum class ExecutionOrder { kDefault = 0, kPriorityBased = 1, kMemoryEfficient = 2 };
enum class ArenaExtendStrategy { kNextPowerOfTwo = 0, kSameAsRequested = 1 };

void BindEnums(nanobind::module_& module);

}  // namespace tessera::python
