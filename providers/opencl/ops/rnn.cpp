// RNN (1-22).

#include "opencl/device/kernel.h"
#include "opencl/ops/recurrent.h"

namespace tessera::opencl {

void RegisterRnn(KernelRegistry& registry) {
  registry.Add(Op("RNN").Versions(1).Types(0, kReals).HostInput(4).Factory(MakeRecurrent));
}

}  // namespace tessera::opencl
