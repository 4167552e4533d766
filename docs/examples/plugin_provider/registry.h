#pragma once

#include <memory>
#include <vector>

#include "kernels.h"

namespace teaching {

/// The operators that kernels.cpp computes, as the runtime looks them up.
class Registry {
 public:
  explicit Registry(const Api& api);
  const OrtKernelRegistry* get() const noexcept { return registry_.get(); }

 private:
  std::vector<std::unique_ptr<KernelSource>> sources_;  // the runtime has their addresses
  Owned<OrtKernelRegistry> registry_;
};

}  // namespace teaching
