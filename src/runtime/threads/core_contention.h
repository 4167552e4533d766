#pragma once

#include <chrono>

namespace tessera {

/// A machine whose cores were contended counts as such for this long.
inline constexpr auto kContentionLasts = std::chrono::seconds(2);
/// After that, looks still tell of the time before.
inline constexpr auto kContentionFades = std::chrono::milliseconds(250);

/// Whether this thread spent a good part of the time since its last look, 100 ms ago or more, ready to run but without a
/// core, as the kernel counts it (second field of /proc/thread-self/schedstat). False between looks, where the kernel does
/// not count, and where the last look came before `since`.
///
/// Involuntary context switches would not tell: the kernel's own threads interrupt a thread for microseconds dozens of
/// times a second, and a virtual machine whose host takes the cores away looks the same. There, a team that sleeps gives up
/// cores that it gets back late.
bool CoreContended(std::chrono::steady_clock::time_point since = {}) noexcept;

}  // namespace tessera
