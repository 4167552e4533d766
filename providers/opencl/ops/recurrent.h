#pragma once

// What RNN, GRU and LSTM share: see recurrent.cl.

#include <memory>

#include "tessera/provider/kernel.h"

namespace tessera::opencl {

std::unique_ptr<Kernel> MakeRecurrent(const KernelInfo& info);

}  // namespace tessera::opencl
