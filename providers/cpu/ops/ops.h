#pragma once

// The operators of the CPU provider: one line each in the families' ops.inc, one function each beside its kernel. Of
// elementwise operators, a line is a table of them.

#include "tessera/provider/kernel.h"

namespace tessera::cpu {

#define TESSERA_OP(name) void Register##name(KernelRegistry& registry);
#include "cpu/ops/all.inc"
#undef TESSERA_OP

}  // namespace tessera::cpu
