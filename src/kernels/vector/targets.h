#pragma once

// Instruction sets that SIMD kernels are compiled for: SSE4.2 (the baseline), AVX2 with FMA and F16C, AVX-512. The best one
// is chosen at run time. Include this before any Highway header.

#include <hwy/detect_compiler_arch.h>

#if HWY_ARCH_X86
// x86-64-v2, the baseline, has no AES; without this Highway would not count SSE4 as part of it and fall back to scalars.
#define HWY_DISABLE_PCLMUL_AES
#ifdef TESSERA_NO_AVX512  // cmake/CompilerOptions.cmake
#define TESSERA_LEFT_OUT HWY_AVX3
#else
#define TESSERA_LEFT_OUT 0
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SCALAR | HWY_EMU128 | HWY_SSE2 | HWY_SSSE3 | HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | TESSERA_LEFT_OUT)
#include <hwy/detect_targets.h>
// Names that this version of Highway does not know yet.
#ifndef HWY_SSE2
#define HWY_SSE2 0
#endif
#ifndef HWY_AVX3_ZEN4
#define HWY_AVX3_ZEN4 0
#endif
#ifndef HWY_AVX3_SPR
#define HWY_AVX3_SPR 0
#endif
#endif
