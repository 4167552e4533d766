#pragma once

#include "runtime/threads/openmp.h"

namespace tessera::onednn {

/// While it lives, primitives that this thread makes or runs use a team of this size. The setting belongs to the host
/// application's thread, which gets it back.
class TeamSize {
 public:
  explicit TeamSize(int threads) noexcept : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~TeamSize() { omp_set_num_threads(before_); }
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  const int before_;
};

}  // namespace tessera::onednn
