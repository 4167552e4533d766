#include "session/provider_selection.h"

#include <algorithm>

#include "base/check.h"
#include "session/provider_options.h"

namespace tessera {
namespace {

constexpr std::string_view kCpu = "CPUExecutionProvider";

}  // namespace

std::vector<ActiveProvider> StartProviders(const SessionOptions& options, const EnvironmentOptions& environment,
                                           const Logger& log, PlacementReport& report) {
  std::vector<ProviderRequest> requests = options.providers.empty() ? environment.default_providers : options.providers;
  std::vector<ActiveProvider> active;
  const auto named = [](const ProviderRequest& request) {
    const ProviderFactory* factory = FindProvider(request.name);
    if (factory == nullptr) {
      Fail(ErrorCode::kInvalidArgument, "there is no execution provider '{}' in this build (available: {})", request.name,
           JoinNames(AllProviders(), [](const ProviderFactory* known) { return std::string(known->name); }));
    }
    return factory;
  };
  if (std::none_of(requests.begin(), requests.end(), [&](const ProviderRequest& r) { return named(r)->name == kCpu; })) {
    requests.push_back({std::string(kCpu), {}});
  }
  std::stable_partition(requests.begin(), requests.end(), [&](const ProviderRequest& r) { return named(r)->name != kCpu; });
  for (const ProviderRequest& request : requests) {
    const ProviderFactory* factory = named(request);
    Require(std::none_of(active.begin(), active.end(), [&](const auto& other) { return other.factory == factory; }),
            "execution provider '{}' is named twice", factory->name);
    ProviderOptions checked = CheckOptions(*factory, request.options);
    try {
      std::unique_ptr<ExecutionProvider> provider = factory->create(checked);
      provider->set_options(std::move(checked));
      active.push_back({factory, std::move(provider)});
      report.providers.push_back({std::string(factory->name), "active", 0});
    } catch (const std::exception& error) {
      if (options.error_on_failure || factory->name == kCpu) {
        Fail(ErrorCode::kEpFail, "{} cannot start: {}", factory->name, error.what());
      }
      log(LogLevel::kWarning, "{} is skipped: {}", factory->name, error.what());
      report.providers.push_back({std::string(factory->name), error.what(), 0});
    }
  }
  return active;
}

}  // namespace tessera
