#pragma once

#include <chrono>

namespace tessera {

/// Shortens libgomp's spinning while other processes want the cores.
///
/// By default a libgomp thread spins for milliseconds at every barrier. That is right on an idle machine; on a busy one
/// the spinning threads take the time slices of the one they wait for, and a loop of microseconds takes many
/// milliseconds. libgomp spins only shortly while it manages more threads than there are cores, so a sleeping team is kept
/// for as long as runs are interrupted often.
class SpinThrottle {
 public:
  /// A machine that was busy counts as such for this long.
  static constexpr auto kCalm = std::chrono::seconds(2);

  /// Whether the kernel has often taken the core away from this thread since it last asked, some time ago.
  static bool Interrupted() noexcept;
  /// Called after each run on a thread that had a team: looks at how often the kernel took the core away from it.
  static void RunEnded() noexcept;
  /// True while the sleeping team is kept.
  static bool engaged() noexcept;
};

}  // namespace tessera
