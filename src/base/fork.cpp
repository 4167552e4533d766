#include "base/fork.h"

#include <pthread.h>

#include <array>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

namespace tessera {

namespace fork_mutexes {
std::atomic<bool> fork_waits{false};
constinit thread_local int held_here = 0;
}  // namespace fork_mutexes

namespace {

struct Library {
  std::atomic<int> inside{0};
  std::atomic<bool> used{false};
  std::atomic<bool> lost{false};
};

std::atomic<uint32_t> generation{0};
thread_local bool survived_fork = false;
thread_local std::array<int, 3> inside_here{};  // of this thread's, by library
std::array<Library, 3> libraries;

/// Fork waits so long for the holders of mutexes, all together.
constexpr auto kLongestWait = std::chrono::milliseconds(200);

}  // namespace

/// The handlers of pthread_atfork, and the mutexes that they take.
struct ForkHandlers {
  std::mutex mutex;
  ForkMutex* first = nullptr;

  static ForkHandlers& Process() {
    static ForkHandlers& handlers = *[] {
      auto* made = new ForkHandlers;  // never destroyed: mutexes in static storage may outlive it otherwise
      pthread_atfork([] { Process().Prepare(); }, [] { Process().Release(); }, [] { Process().Restart(); });
      return made;
    }();
    return handlers;
  }

  /// Takes every mutex, in whatever order threads take several of them: where one is held, all are given back for a moment.
  void Prepare() {
    const auto until = std::chrono::steady_clock::now() + kLongestWait;
    fork_mutexes::fork_waits.store(true, std::memory_order_relaxed);
    for (;;) {
      mutex.lock();
      bool all = true;
      for (ForkMutex* one = first; one != nullptr; one = one->next_) {
        one->held_ = one->mutex_.try_lock();
        all &= one->held_ || !one->awaited_;
      }
      if (all || std::chrono::steady_clock::now() > until) return;
      ReleaseMutexes();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  void Release() {
    fork_mutexes::fork_waits.store(false, std::memory_order_relaxed);
    ReleaseMutexes();
  }

  void ReleaseMutexes() {
    for (ForkMutex* one = first; one != nullptr; one = one->next_) {
      if (std::exchange(one->held_, false)) one->mutex_.unlock();
    }
    mutex.unlock();
  }

  void Restart() {
    for (ForkMutex* one = first; one != nullptr; one = one->next_) {
      if (!one->held_) std::construct_at(&one->mutex_);  // its holder does not exist here
    }
    Release();
    survived_fork = true;
    generation.fetch_add(1, std::memory_order_relaxed);
    for (size_t i = 0; i < libraries.size(); ++i) {
      Library& library = libraries[i];
      library.lost = library.lost || library.used || library.inside > inside_here[i];
      library.inside = inside_here[i];
      library.used = false;
    }
  }
};

namespace {
[[maybe_unused]] const ForkHandlers& registered = ForkHandlers::Process();  // as soon as the library is loaded
}  // namespace

uint32_t ForkGeneration() noexcept { return generation.load(std::memory_order_relaxed); }

bool SurvivedFork() noexcept { return survived_fork; }

void ForkMutex::LetForkGoFirst() noexcept {
  while (fork_mutexes::fork_waits.load(std::memory_order_relaxed))
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

ForkMutex::ForkMutex(Held held) : mutex_(), awaited_(held == Held::kShortly) {
  ForkHandlers& handlers = ForkHandlers::Process();
  const std::lock_guard lock(handlers.mutex);
  next_ = handlers.first;
  if (next_ != nullptr) next_->previous_ = this;
  handlers.first = this;
}

ForkMutex::~ForkMutex() {
  {
    ForkHandlers& handlers = ForkHandlers::Process();
    const std::lock_guard lock(handlers.mutex);
    (previous_ != nullptr ? previous_->next_ : handlers.first) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
  }
  mutex_.~mutex();
}

void NoteUse(ForeignThreads library) noexcept {
  libraries[static_cast<size_t>(library)].used.store(true, std::memory_order_relaxed);
}

InsideLibrary::InsideLibrary(ForeignThreads library, bool inside) noexcept
    : library_(static_cast<int>(library)), inside_(inside) {
  if (!inside_) return;
  libraries[static_cast<size_t>(library_)].inside.fetch_add(1, std::memory_order_relaxed);
  ++inside_here[static_cast<size_t>(library_)];
}

InsideLibrary::~InsideLibrary() {
  if (!inside_) return;
  libraries[static_cast<size_t>(library_)].inside.fetch_sub(1, std::memory_order_relaxed);
  --inside_here[static_cast<size_t>(library_)];
}

bool LostInFork(ForeignThreads library) noexcept {
  return libraries[static_cast<size_t>(library)].lost.load(std::memory_order_relaxed);
}

}  // namespace tessera
