#pragma once

// What ConvInteger and QLinearConv share: convolutions of bytes. One scale and zero point for the image and the result;
// one, or one a filter, for filters.

#include <memory>

#include "tessera/provider/kernel.h"

namespace tessera::opencl {

std::unique_ptr<Kernel> MakeIntegerConv(const KernelInfo& info);

}  // namespace tessera::opencl
