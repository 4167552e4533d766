#pragma once

// Rotations of pairs of numbers, as rotary position embeddings make them. Nothing may overlap the result.

#include <cstdint>

namespace tessera::cpu {

/// (y[i], y[half + i]) = (x[i], x[half + i]) rotated by the angle whose cosine and sine are given.
void RotateHalves(const float* x, const float* cosine, const float* sine, int64_t half, float* y);

/// (y[2i], y[2i + 1]) = (x[2i], x[2i + 1]) rotated.
void RotatePairs(const float* x, const float* cosine, const float* sine, int64_t half, float* y);

}  // namespace tessera::cpu
