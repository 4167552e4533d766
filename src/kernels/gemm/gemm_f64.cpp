// Register tiles of the double GEMM.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_f64.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/gemm/gemm_kernels.h"

#define GEMM_T double
#define GEMM_KERNELS KernelsF64
#define TESSERA_GEMM_F64 GEMM_ROW
#include "kernels/gemm/gemm-inl.h"
#undef GEMM_KERNELS
#undef GEMM_T

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(KernelsF64);
const GemmKernels<double>& GemmKernelsF64() { return HWY_DYNAMIC_DISPATCH(KernelsF64)(); }
}  // namespace tessera::cpu
#endif
