#pragma once

#include <chrono>
#include <memory>

#include "plugin/ep.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::plugin {

/// A library's part in a profile; null where it has none, or fails to start one, which the log tells.
std::unique_ptr<ProviderProfiler> StartProfile(const std::shared_ptr<Ep>& ep, std::chrono::steady_clock::time_point zero);

}  // namespace tessera::plugin
