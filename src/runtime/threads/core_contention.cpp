#include "runtime/threads/core_contention.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// Between looks of a thread. Threads that have just woken may share a core for tens of milliseconds, with nobody else
// about.
constexpr auto kInterval = std::chrono::milliseconds(100);
// Of the time between two looks. An idle machine has 0 to 15 %, a core shared with one busy thread 50 %.
constexpr double kContendedShare = 0.25;

/// How long this thread has been ready to run without a core, since it began; nothing where the kernel does not tell.
std::optional<std::chrono::nanoseconds> TimeWithoutCore() noexcept {
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 96> text{};
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
  if (size <= 0) return std::nullopt;
  const char* const end = text.data() + size;
  const auto* const space = static_cast<const char*>(std::memchr(text.data(), ' ', static_cast<size_t>(size)));
  int64_t waited = 0;
  if (space == nullptr || std::from_chars(space + 1, end, waited).ec != std::errc()) return std::nullopt;
  return std::chrono::nanoseconds(waited);
}

}  // namespace

bool CoreContended(Clock::time_point since) noexcept {
  struct Look {
    Clock::time_point at;
    std::chrono::nanoseconds waited{0};
  };
  thread_local Look last;
  const auto now = Clock::now();
  if (now - last.at < kInterval) return false;
  const Look look{now, TimeWithoutCore().value_or(std::chrono::nanoseconds(0))};
  const bool counts = last.at != Clock::time_point() && last.at >= since;
  const double share =
      std::chrono::duration<double>(look.waited - last.waited) / std::chrono::duration<double>(now - last.at);
  last = look;
  return counts && share > kContendedShare;
}

}  // namespace tessera
