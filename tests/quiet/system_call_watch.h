#pragma once

// Sees system calls that would open a socket, write to a file system or start a program, whoever makes them: the kernel
// hands them over (seccomp), so that neither a library's own wrappers nor bare instructions get past.

#include <string>
#include <vector>

namespace tessera::testing {

/// From now on such calls of this thread, and of those that it will start, fail with EPERM and are noted. There is no way
/// back: each test that watches is a process of its own. False where the kernel does not do that.
bool WatchSystemCalls();

/// What was noted so far, such as "socket" or "openat /home/me/.cache/x".
std::vector<std::string> SeenSystemCalls();

}  // namespace tessera::testing
