#include "kernels/vector/processor_targets.h"

#include "kernels/vector/targets.h"
// After it.
#include <hwy/targets.h>

namespace tessera::cpu {

int64_t ProcessorTargets() {
  int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86_64
  // What Highway's targets are made of (hwy/ops/set_macros-inl.h). The compiler's functions ask the system about the
  // registers, too.
#define TESSERA_HAS(feature) (__builtin_cpu_supports(feature) != 0)
  if (TESSERA_HAS("sse4.2")) targets |= HWY_SSE4;
  if (TESSERA_HAS("avx2") && TESSERA_HAS("fma") && TESSERA_HAS("f16c") && TESSERA_HAS("bmi") && TESSERA_HAS("bmi2") &&
      TESSERA_HAS("lzcnt")) {
    targets |= HWY_AVX2;
    if (TESSERA_HAS("avx512f") && TESSERA_HAS("avx512vl") && TESSERA_HAS("avx512dq") && TESSERA_HAS("avx512bw") &&
        TESSERA_HAS("avx512cd")) {
      targets |= HWY_AVX3;
    }
  }
#undef TESSERA_HAS
#endif
  return targets;
}

}  // namespace tessera::cpu
