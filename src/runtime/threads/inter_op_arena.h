#pragma once

#include <tbb/task_arena.h>

#include <memory>

namespace tessera {

/// Threads that run nodes of a graph beside each other. Throws Error(kFail) where the process cannot start so many.
std::shared_ptr<tbb::task_arena> MakeInterOpArena(int threads);

}  // namespace tessera
