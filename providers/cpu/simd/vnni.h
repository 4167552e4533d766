#pragma once

// Dot products of bytes (VNNI), which no instruction set that kernels are compiled for includes.

namespace tessera::cpu {

/// Beside AVX-512, which the caller knows to be there.
bool HasAvx512Vnni();
/// Beside AVX2.
bool HasAvxVnni();

}  // namespace tessera::cpu
