#include "runtime/threads/inter_op_arena.h"

#include "base/fork.h"
#include "runtime/threads/openmp_team.h"

namespace tessera {

std::shared_ptr<tbb::task_arena> MakeInterOpArena(int threads) {
  RequireThreads(threads - 1, "running operators in parallel");
  NoteUse(ForeignThreads::kTbb);
  return {new tbb::task_arena(threads), [](tbb::task_arena* arena) {
            // Locks of TBB may have been another thread's when this process was forked.
            if (!LostInFork(ForeignThreads::kTbb)) delete arena;
          }};
}

}  // namespace tessera
