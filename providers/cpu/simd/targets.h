#pragma once

// Instruction sets that SIMD kernels are compiled for; the best one is chosen at run time. Include before any hwy header.

// The baseline, x86-64-v2, has no AES; without this Highway would fall back to SSSE3.
#define HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
