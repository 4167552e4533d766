#pragma once

// What pools share: a window's maximum, mean or norm, as macros `kind` of pool.cl.

#include <memory>
#include <string>

#include "opencl/ops/reduction.h"

namespace tessera::opencl {

/// The power of a norm where it is computed by products, otherwise 0.
int WholePower(double p);
/// The macro `kind` of the norm with this power.
std::string NormDefines(double p);

std::unique_ptr<Kernel> MakePool(const KernelInfo& info, const std::string& kind);
/// Over whole planes: a reduction, or on processors, where planes are not long, one by an item each, in vectors.
std::unique_ptr<Kernel> MakeGlobalPool(const KernelInfo& info, const std::string& kind, const Fold& fold);

}  // namespace tessera::opencl
