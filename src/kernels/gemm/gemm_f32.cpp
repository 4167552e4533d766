// Register tiles of the float GEMM.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_f32.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/gemm/gemm_kernels.h"

#define GEMM_T float
#define GEMM_KERNELS KernelsF32
#define TESSERA_GEMM_F32 GEMM_ROW
#include "kernels/gemm/gemm-inl.h"
#undef GEMM_KERNELS
#undef GEMM_T

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(KernelsF32);
const GemmKernels<float>& GemmKernelsF32() { return HWY_DYNAMIC_DISPATCH(KernelsF32)(); }
}  // namespace tessera::cpu
#endif
