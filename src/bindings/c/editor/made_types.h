#pragma once

#include "bindings/c/type_info.h"
#include "tessera/type_info.h"

namespace tessera::c_abi {

/// Throws Error for what no value can be of.
TypeInfo TypeOf(const OrtTypeInfo& info);

}  // namespace tessera::c_abi
