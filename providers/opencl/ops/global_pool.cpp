// GlobalAveragePool (1, 22), GlobalMaxPool (1, 22), GlobalLpPool (1-22).

#include "opencl/claims/refusals.h"
#include "opencl/ops/pool.h"
#include "ops/nn/pool.h"

namespace tessera::opencl {
namespace {

std::unique_ptr<Kernel> MakeGlobalAveragePool(const KernelInfo& info) {
  return MakeGlobalPool(info, "#define MEAN\n", {"0", "value + element", "value + other", "value / (TX)max(count, 1L)"});
}
std::unique_ptr<Kernel> MakeGlobalMaxPool(const KernelInfo& info) {
  return MakeGlobalPool(info, "#define LOWEST -INFINITY\n", Maximum("-INFINITY"));
}
std::unique_ptr<Kernel> MakeGlobalLpPool(const KernelInfo& info) {
  const double p = PoolAttributes(info.node()).p;
  std::string power = "fabs(element)";
  for (int i = 1; i < WholePower(p); ++i) power += " * fabs(element)";
  if (WholePower(p) == 0) power = fmt::format("pow(fabs(element), (TX){:#.9g}f)", p);
  return MakeGlobalPool(info, NormDefines(p),
                        {"0", "value + " + power, "value + other",
                         p == 1   ? "value"
                         : p == 2 ? "sqrt(value)"
                                  : fmt::format("pow(value, (TX){:#.9g}f)", 1 / p)});
}

}  // namespace

void RegisterGlobalAveragePool(KernelRegistry& registry) {
  registry.Add(Op("GlobalAveragePool").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Factory(MakeGlobalAveragePool));
}
void RegisterGlobalMaxPool(KernelRegistry& registry) {
  registry.Add(Op("GlobalMaxPool").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Factory(MakeGlobalMaxPool));
}
void RegisterGlobalLpPool(KernelRegistry& registry) {
  registry.Add(Op("GlobalLpPool").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Factory(MakeGlobalLpPool));
}

}  // namespace tessera::opencl
