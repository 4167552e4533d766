#pragma once

#include <nanobind/nanobind.h>

namespace tessera::python {

enum class ExecutionOrder { kDefault = 0, kPriorityBased = 1, kMemoryEfficient = 2 };

void BindEnums(nanobind::module_& module);

}  // namespace tessera::python
