#pragma once

// What pools share: a window's maximum, mean or norm, as macros `kind` of pool.cl.

#include <memory>
#include <string>

#include "opencl/ops/reduction.h"

namespace tessera::opencl {

std::unique_ptr<Kernel> MakePool(const KernelInfo& info, const std::string& kind);
/// Over whole planes: a reduction, or on processors, where planes are not long, one by an item each, in vectors.
std::unique_ptr<Kernel> MakeGlobalPool(const KernelInfo& info, const std::string& kind, const Fold& fold);

}  // namespace tessera::opencl
