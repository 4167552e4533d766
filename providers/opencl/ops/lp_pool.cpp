// LpPool (1-22).

#include "opencl/claims/refusals.h"
#include "opencl/ops/pool.h"
#include "ops/nn/pool.h"

namespace tessera::opencl {
namespace {

std::unique_ptr<Kernel> MakeLpPool(const KernelInfo& info) {
  return MakePool(info, NormDefines(PoolAttributes(info.node()).p));
}

}  // namespace

void RegisterLpPool(KernelRegistry& registry) {
  registry.Add(Op("LpPool").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Factory(MakeLpPool));
}

}  // namespace tessera::opencl
