#pragma once

#include <cstdint>

// The interface of libgomp, on whose threads libdnnl runs, called as GCC's code for `#pragma omp` calls it: the pragmas of
// another compiler would bring that compiler's runtime and a second team of threads.
extern "C" {
int omp_get_max_threads() noexcept;
int omp_get_num_threads() noexcept;
int omp_get_thread_num() noexcept;
int omp_in_parallel() noexcept;
void omp_set_num_threads(int) noexcept;
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
}

namespace tessera {

/// Calls `body()` on each thread of a team; `threads` of 0: as many as this thread's setting says. No exception may leave
/// it.
template <class Body>
void OnOpenMpTeam(int threads, const Body& body) {
  const auto call = [](void* data) noexcept { (*static_cast<const Body*>(data))(); };
  GOMP_parallel(call, const_cast<void*>(static_cast<const void*>(&body)), static_cast<unsigned>(threads), 0);
}

/// Calls `body(i)` for each i below `count`, an equal stretch of them on each thread of the whole team.
template <class Body>
void OpenMpFor(int64_t count, const Body& body) {
  OnOpenMpTeam(0, [&] {
    const int64_t team = omp_get_num_threads(), mine = omp_get_thread_num();
    for (int64_t i = count * mine / team, end = count * (mine + 1) / team; i < end; ++i) body(i);
  });
}

}  // namespace tessera
