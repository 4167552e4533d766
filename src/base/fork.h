#pragma once

// What a process that was forked finds: a copy of the parent's memory, of whose threads only the one that forked exists.
// Threads of pools are gone, locks that others held stay locked for ever, and libraries that have threads of their own
// (libgomp, TBB, OpenCL drivers) wait for them.

#include <atomic>
#include <cstdint>
#include <mutex>

namespace tessera {

/// How many forks lie between the process that loaded the library and this one. What has threads notes it when it starts
/// them: they exist while it is the same.
uint32_t ForkGeneration() noexcept;

/// Whether this thread is the one that called fork() in the parent. libgomp and others still count on threads that served
/// it there.
bool SurvivedFork() noexcept;

namespace fork_mutexes {
extern std::atomic<bool> fork_waits;
extern constinit thread_local int held_here [[gnu::tls_model("initial-exec")]];  // by this thread
}  // namespace fork_mutexes

/// A mutex for short critical sections that is free in a child of fork(), with what it guards in order: forks wait for its
/// holder. One that keeps it for longer than a moment leaves it free in the child all the same.
class ForkMutex {
 public:
  enum class Held { kShortly, kLong };
  /// kLong: forks do not wait, and what the mutex guards bears that.
  explicit ForkMutex(Held held = Held::kShortly);
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() {
    // A fork would wait for ever for mutexes that are always somebody's. Who holds one gets his others, so that he comes to
    // an end.
    if (fork_mutexes::fork_waits.load(std::memory_order_relaxed) && fork_mutexes::held_here == 0) [[unlikely]]
      LetForkGoFirst();
    mutex_.lock();
    ++fork_mutexes::held_here;
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    ++fork_mutexes::held_here;
    return true;
  }
  void unlock() {
    --fork_mutexes::held_here;
    mutex_.unlock();
  }

 private:
  friend struct ForkHandlers;
  static void LetForkGoFirst() noexcept;

  union {
    std::mutex mutex_;  // made anew in a child where its holder is gone
  };
  ForkMutex* previous_ = nullptr;
  ForkMutex* next_ = nullptr;
  const bool awaited_;
  bool held_ = false;  // by fork()
};

/// Libraries with threads or locks of their own, which a child cannot use once the parent was in the midst of them.
enum class ForeignThreads { kOneDnn, kTbb, kOpenCl };

/// Marks that this process uses the library: for good where it starts threads that live on (kTbb, kOpenCl).
void NoteUse(ForeignThreads library) noexcept;
/// While it lives, a thread is inside the library.
class InsideLibrary {
 public:
  explicit InsideLibrary(ForeignThreads library, bool inside = true) noexcept;
  ~InsideLibrary();
  InsideLibrary(const InsideLibrary&) = delete;
  InsideLibrary& operator=(const InsideLibrary&) = delete;

 private:
  const int library_;
  const bool inside_;
};
/// Whether the process was forked from one that used the library (kTbb, kOpenCl), or had another thread inside it then
/// (kOneDnn).
bool LostInFork(ForeignThreads library) noexcept;

}  // namespace tessera
