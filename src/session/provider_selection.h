#pragma once

#include "base/log.h"
#include "session/config.h"
#include "session/environment.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {

/// Every provider that this process knows: those that AddProvider added, then those compiled in.
std::vector<const ProviderFactory*> AllProviders();

/// Why available_providers() left a provider out when it was last asked; empty where it did not, or never was.
std::string WhyLeftOut(const ProviderFactory& factory);

/// A provider that started, and how it is known.
struct ActiveProvider {
  const ProviderFactory* factory;
  std::unique_ptr<ExecutionProvider> provider;
  std::shared_ptr<ProviderSource> source = nullptr;  // which keeps the factory
};

/// Throws Error that lists the providers there are.
const ProviderFactory& FactoryNamed(std::string_view name);

/// The source of a registered library's provider; null: it is one of the process's table, or unknown.
std::shared_ptr<ProviderSource> SourceOf(const ProviderRequest& request, const Environment::State& environment);

/// Goes on without a provider that cannot start, with one log line and the reason in `report`; with `error_on_failure`
/// throws Error.
void SkipProvider(std::string_view name, const std::exception& error, const SessionOptions& options, const Logger& log,
                  PlacementReport& report);

/// Starts the session's providers, then the environment's, in priority order, CPU last. Those that cannot start are skipped
/// with one log line and their reason in `report`, or are an Error with `error_on_failure`. Those with an option
/// "precision" that may be `precision` get it; without one, what a provider before them is asked for, as they have what it
/// leaves.
std::vector<ActiveProvider> StartProviders(const SessionOptions& options, const Environment::State& environment,
                                           Precision precision, const Logger& log, PlacementReport& report);

}  // namespace tessera
