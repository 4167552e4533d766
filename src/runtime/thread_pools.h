#pragma once

#include <memory>

#include "tessera/thread_pool.h"

namespace tessera {

/// Runs everything on the calling thread.
std::shared_ptr<ThreadPool> MakeSerialPool();

}  // namespace tessera
