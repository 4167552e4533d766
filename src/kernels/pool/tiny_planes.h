#pragma once

#include <cstdint>
#include <span>

#include "kernels/pool/pool.h"

namespace tessera::cpu {

/// Elements of an input plane, and of an output plane.
inline constexpr int64_t kMostOfTinyPlane = 64;
/// Planes that fill vectors of any machine.
inline constexpr int64_t kFewestTinyPlanes = 16;

/// A pooling of planes of so few pixels that vectors lie across planes, one in each lane.
struct TinyPlanes {
  PoolKind kind;
  PoolFinish finish;
  int64_t size;                   // elements of an input plane
  std::span<const int32_t> taps;  // indices in the plane under the windows, output after output
  std::span<const int32_t> ends;  // by output: where its taps end
  const float* counts;            // kDivide: by output
};

/// Pools `planes` planes, one after the other.
void PoolTinyPlanes(const TinyPlanes& tiny, int64_t planes, const float* in, float* out);

}  // namespace tessera::cpu
