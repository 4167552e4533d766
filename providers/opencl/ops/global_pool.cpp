// GlobalAveragePool (1, 22), GlobalMaxPool (1, 22).

#include "opencl/claims/refusals.h"
#include "opencl/ops/pool.h"

namespace tessera::opencl {
namespace {

std::unique_ptr<Kernel> MakeGlobalAveragePool(const KernelInfo& info) {
  return MakeGlobalPool(info, "#define MEAN\n", {"0", "value + element", "value + other", "value / (TX)max(count, 1L)"});
}
std::unique_ptr<Kernel> MakeGlobalMaxPool(const KernelInfo& info) {
  return MakeGlobalPool(info, "#define LOWEST -INFINITY\n", Maximum("-INFINITY"));
}

}  // namespace

void RegisterGlobalAveragePool(KernelRegistry& registry) {
  registry.Add(Op("GlobalAveragePool").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Factory(MakeGlobalAveragePool));
}
void RegisterGlobalMaxPool(KernelRegistry& registry) {
  registry.Add(Op("GlobalMaxPool").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Factory(MakeGlobalMaxPool));
}

}  // namespace tessera::opencl
