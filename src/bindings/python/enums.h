#pragma once

#include <nanobind/nanobind.h>

namespace tessera::python {

void BindEnums(nanobind::module_& module);

}  // namespace tessera::python
