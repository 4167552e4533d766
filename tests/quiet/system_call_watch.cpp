#include "system_call_watch.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::testing {

#if defined(__x86_64__)

namespace {

constexpr int kNoPath = -1;

struct WatchedCall {
  uint32_t number;
  const char* name;
  int path;        // which argument, or kNoPath
  int flags = -1;  // which argument are open's flags: only calls that may write are noted
};

constexpr std::array kWatched = {
    WatchedCall{SYS_socket, "socket", kNoPath}, WatchedCall{SYS_socketpair, "socketpair", kNoPath},
    WatchedCall{SYS_open, "open", 0, 1},        WatchedCall{SYS_openat, "openat", 1, 2},
    WatchedCall{SYS_openat2, "openat2", 1},     WatchedCall{SYS_creat, "creat", 0},
    WatchedCall{SYS_mkdir, "mkdir", 0},         WatchedCall{SYS_mkdirat, "mkdirat", 1},
    WatchedCall{SYS_mknod, "mknod", 0},         WatchedCall{SYS_mknodat, "mknodat", 1},
    WatchedCall{SYS_rename, "rename", 0},       WatchedCall{SYS_renameat, "renameat", 1},
    WatchedCall{SYS_renameat2, "renameat2", 1}, WatchedCall{SYS_link, "link", 0},
    WatchedCall{SYS_linkat, "linkat", 1},       WatchedCall{SYS_symlink, "symlink", 1},
    WatchedCall{SYS_symlinkat, "symlinkat", 2}, WatchedCall{SYS_unlink, "unlink", 0},
    WatchedCall{SYS_unlinkat, "unlinkat", 1},   WatchedCall{SYS_truncate, "truncate", 0},
    WatchedCall{SYS_execve, "execve", 0},       WatchedCall{SYS_execveat, "execveat", 1}};

/// Fixed memory: a signal handler may not allocate.
struct Note {
  const char* name;
  std::array<char, 240> path;
};
constexpr size_t kMostNotes = 64;
std::array<Note, kMostNotes> notes;
std::atomic<size_t> num_notes{0};

uint64_t Argument(const ucontext_t& context, int argument) {
  constexpr std::array kRegisters = {REG_RDI, REG_RSI, REG_RDX};
  return static_cast<uint64_t>(context.uc_mcontext.gregs[kRegisters[static_cast<size_t>(argument)]]);
}

void OnSystemCall(int /*signal*/, siginfo_t* info, void* place) {
  auto& context = *static_cast<ucontext_t*>(place);
  const size_t at = num_notes.fetch_add(1);
  for (const WatchedCall& call : kWatched) {
    if (call.number != static_cast<uint32_t>(info->si_syscall) || at >= kMostNotes) continue;
    notes[at].name = call.name;
    if (call.path != kNoPath) {
      const auto* path = reinterpret_cast<const char*>(Argument(context, call.path));
      strncpy(notes[at].path.data(), path, notes[at].path.size() - 1);
    }
  }
  context.uc_mcontext.gregs[REG_RAX] = -EPERM;
}

sock_filter Load(size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }

/// What the kernel runs at each system call: allow, unless it is one of the table.
std::vector<sock_filter> MakeFilter() {
  constexpr uint32_t kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  std::vector<sock_filter> filter = {Load(offsetof(seccomp_data, arch)),
                                     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
                                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP), Load(offsetof(seccomp_data, nr))};
  for (const WatchedCall& call : kWatched) {
    if (call.flags < 0) {
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.number, 0, 1));
      filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
      continue;
    }
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.number, 0, 4));
    filter.push_back(Load(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(call.flags)));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kWrites, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

}  // namespace

bool WatchSystemCalls() {
  struct sigaction action = {};
  action.sa_sigaction = OnSystemCall;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  std::vector<sock_filter> filter = MakeFilter();
  const sock_fprog program = {.len = static_cast<uint16_t>(filter.size()), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::vector<std::string> SeenSystemCalls() {
  std::vector<std::string> seen;
  for (size_t i = 0; i < std::min(num_notes.load(), kMostNotes); ++i) {
    const std::string path = notes[i].path.data();
    seen.push_back(path.empty() ? notes[i].name : notes[i].name + (" " + path));
  }
  return seen;
}

#else

bool WatchSystemCalls() { return false; }
std::vector<std::string> SeenSystemCalls() { return {}; }

#endif

}  // namespace tessera::testing
