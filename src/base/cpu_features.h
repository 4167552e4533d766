#pragma once

#include <string>

// Instructions that none of the instruction sets includes that kernels are compiled for: who uses them asks at run time.

namespace tessera {

/// Dot products of bytes (VNNI), beside AVX-512, which the caller knows to be there.
bool HasAvx512Vnni();
/// The same beside AVX2.
bool HasAvxVnni();
/// Permutations of bytes (VBMI), beside AVX-512.
bool HasAvx512Vbmi();
/// Products of pairs of bfloat16 that sum in float32 (BF16), beside AVX-512.
bool HasAvx512Bf16();
/// Whether these multiply more numbers than float32 ones do. AMD's multiply twice as many (Zen 4 and 5, measured), Intel's
/// half as many (Emerald Rapids, measured): their place there is AMX.
bool HasFastAvx512Bf16();

/// Tiles of bytes (AMX), which the system lets this process use: asked for at the first call, for all threads. Signal
/// handlers' stacks must hold the tiles' registers from then on, 11 KiB in all; where one is too small the answer is no.
bool HasAmxInt8();

/// What kernels dispatch on, of what this processor has: "AVX2, FMA", or with AVX-512, VNNI and so on. For reports.
std::string InstructionSets();

/// Whether products of bytes sum in 32 bits at once, so that none saturates.
inline bool HasByteDotProducts() { return HasAvx512Vnni() || HasAvxVnni(); }

}  // namespace tessera
