#pragma once

namespace tessera {

/// Shortens libgomp's spinning while other processes want the cores.
///
/// By default a libgomp thread spins for milliseconds at every barrier. That is right on an idle machine; on a busy one
/// the spinning threads take the time slices of the one they wait for, and a loop of microseconds takes many
/// milliseconds. libgomp spins only shortly while it manages more threads than there are cores, so a sleeping team is kept
/// for as long as cores are contended.
class SpinThrottle {
 public:
  /// Called after each run on a thread that had a team: looks whether it has waited for a core.
  static void RunEnded() noexcept;
  /// True while the sleeping team is kept.
  static bool engaged() noexcept;
};

}  // namespace tessera
