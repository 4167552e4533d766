#pragma once

// Dot products of bytes (VNNI), which no instruction set that kernels are compiled for includes.

namespace tessera {

/// Beside AVX-512, which the caller knows to be there.
bool HasAvx512Vnni();
/// Beside AVX2.
bool HasAvxVnni();

/// Whether products of bytes sum in 32 bits at once, so that none saturates.
inline bool HasByteDotProducts() { return HasAvx512Vnni() || HasAvxVnni(); }

}  // namespace tessera
