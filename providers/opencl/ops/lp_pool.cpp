// LpPool (1-22), GlobalLpPool (1-22).

#include <cmath>

#include "opencl/claims/refusals.h"
#include "opencl/ops/pool.h"
#include "ops/nn/pool.h"

namespace tessera::opencl {
namespace {

/// The norm's power where it is computed by products, otherwise 0.
int WholePower(double p) {
  constexpr int kMostByProducts = 16;
  return p >= 1 && p <= kMostByProducts && p == std::floor(p) ? static_cast<int>(p) : 0;
}

std::string NormDefines(double p) { return fmt::format("#define NORM {}\n", WholePower(p)); }

std::unique_ptr<Kernel> MakeLpPool(const KernelInfo& info) {
  return MakePool(info, NormDefines(PoolAttributes(info.node()).p));
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

void RegisterLpPool(KernelRegistry& registry) {
  registry.Add(Op("LpPool").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Factory(MakeLpPool));
}
void RegisterGlobalLpPool(KernelRegistry& registry) {
  registry.Add(Op("GlobalLpPool").Versions(1).Types(0, kReals).Unless(SpatialRefusal).Factory(MakeGlobalLpPool));
}

}  // namespace tessera::opencl
