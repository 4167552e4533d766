#pragma once

#include <memory>

#include "tessera/session.h"

namespace tessera {

struct Environment::State {
  EnvironmentOptions options;
  std::shared_ptr<Allocator> host_arena;
};

}  // namespace tessera
