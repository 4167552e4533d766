// AveragePool (1-22).

#include "opencl/claims/refusals.h"
#include "opencl/ops/pool.h"

namespace tessera::opencl {
namespace {

std::unique_ptr<Kernel> MakeAveragePool(const KernelInfo& info) { return MakePool(info, "#define MEAN\n"); }

}  // namespace

void RegisterAveragePool(KernelRegistry& registry) {
  registry.Add(Op("AveragePool").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Factory(MakeAveragePool));
}

}  // namespace tessera::opencl
