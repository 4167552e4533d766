#pragma once

// Memory of the small objects that a binding asks for and releases around each run.

#include <cstddef>
#include <new>

#include "base/sanitizers.h"

namespace tessera::c_abi {

/// Gives T an operator new that takes the last blocks that this thread gave back, so that a steady state has no heap
/// traffic. A thread keeps few of them.
template <class T>
class Recycled {
 public:
  static void* operator new(size_t size) {
    Blocks& kept = blocks;
    if (kept.first == nullptr) return ::operator new(size);
    Block* block = kept.first;
    kept.first = block->next;
    --kept.count;
    return block;
  }

  static void operator delete(void* memory) noexcept {
    if (memory == nullptr) return;
    Blocks& kept = blocks;
    if (kept.count >= kMost || kept.closed) return ::operator delete(memory);
    if (!kept.has_cleaner) [[unlikely]]
      MakeCleaner();
    kept.first = new (memory) Block{kept.first};
    ++kept.count;
  }

 private:
  struct Block {
    Block* next;
  };
  /// Without a destructor: objects may be released while the thread ends, after the cleaner is gone.
  struct Blocks {
    Block* first = nullptr;
    int count = 0;
    bool has_cleaner = false, closed = false;
  };
  class Cleaner {
   public:
    ~Cleaner() {
      Blocks& kept = blocks;
      kept.closed = true;
      while (kept.first != nullptr) {
        Block* block = kept.first;
        kept.first = block->next;
        ::operator delete(block);
      }
      kept.count = 0;
    }
  };

  static void MakeCleaner() {
    static thread_local Cleaner cleaner;
    blocks.has_cleaner = true;
  }

  // Under a sanitizer each object has memory of its own, so that a use after its release is seen.
#ifdef __SANITIZE_ADDRESS__
  static constexpr int kMost = 0;
#else
  static constexpr int kMost = 64;
#endif
  // Where the thread finds it without a call: the library has such variables already.
  static thread_local Blocks blocks __attribute__((tls_model("initial-exec")));
};

template <class T>
constinit thread_local typename Recycled<T>::Blocks Recycled<T>::blocks;

}  // namespace tessera::c_abi
