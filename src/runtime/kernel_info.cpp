#include "runtime/kernel_info.h"

#include "base/check.h"
#include "runtime/prepack_cache.h"
#include "runtime/subgraph.h"

namespace tessera {

SubgraphRunner& NodeKernelInfo::subgraph(std::string_view attribute) const {
  for (const Plan::Nested& nested : nested_) {
    if (nested.node == node_.index && nested.attribute == attribute) return *nested.runner;
  }
  Fail(ErrorCode::kInvalidGraph, "attribute '{}' must be a graph", attribute);
}

std::shared_ptr<const void> NodeKernelInfo::SharedPrepack(const Tensor& constant, std::string_view key,
                                                          const std::function<std::shared_ptr<const void>()>& make) const {
  if (!resources_.share_prepacked) return make();
  return PrepackCache::Process().GetOrMake(constant, key, make);
}

}  // namespace tessera
