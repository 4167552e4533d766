#pragma once

// The team of threads that libgomp keeps for each thread that enters a parallel region.

#include <chrono>

#include "runtime/threads/float_mode.h"

namespace tessera {

/// Throws Error(kFail) where the process cannot start so many threads now. `purpose`: "the OpenMP team".
void RequireThreads(int count, const char* purpose);

namespace openmp_team {
struct State {
  int size = 1;
  FloatMode mode = kPlainFloatMode;
  int started = 1;  // tried and started at `when`
  std::chrono::steady_clock::time_point when;
};
/// Of this thread's team as we last left it.
State& Current() noexcept;
void Start(int threads);
}  // namespace openmp_team

/// Before this thread enters a parallel region of up to `threads`. libgomp ends the process where it cannot start a thread,
/// so that it is asked to only where others could be started just now; an Error says otherwise. The team computes in this
/// thread's float mode.
inline void PrepareOpenMpTeam(int threads) {
  const openmp_team::State& team = openmp_team::Current();
  if (threads <= 1 || (threads <= team.size && team.mode == CurrentFloatMode())) [[likely]]
    return;
  openmp_team::Start(threads);
}

/// The region has so many: libgomp ends those that it leaves out.
inline void EnterOpenMpTeam(int threads) {
  PrepareOpenMpTeam(threads);
  openmp_team::State& team = openmp_team::Current();
  if (threads > 1 && threads < team.size) team.size = threads;
}

}  // namespace tessera
