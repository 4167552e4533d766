// CastLike (15, 19, 21, 23, 24, 25).

#include "cpu/ops/math/cast.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {

void RegisterCastLike(KernelRegistry& registry) {
  registry.Add(Op("CastLike").Versions(15).InPlace(0, 0).Factory([](const KernelInfo& info) -> std::unique_ptr<Kernel> {
    return std::make_unique<CastKernel>(info, info.input_type(1));
  }));
}

}  // namespace tessera::cpu
