#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

/// How a process ends that does it: "survives" or "ends".
template <class Body>
const char* EndOf(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    static_cast<void>(!std::freopen("/dev/null", "w", stdout));
    static_cast<void>(!std::freopen("/dev/null", "w", stderr));
    body();
    _exit(0);
  }
  int state = 0;
  if (waitpid(child, &state, 0) != child) std::abort();
  return WIFEXITED(state) && WEXITSTATUS(state) == 0 ? "survives" : "ends";
}
