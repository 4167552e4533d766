#include "session/provider_selection.h"

#include <algorithm>

#include "base/check.h"
#include "session/precision.h"
#include "session/provider_options.h"
#include "tessera/providers/names.h"

namespace tessera {
namespace {

constexpr Precision kRoundings[] = {Precision::kBFloat16, Precision::kFloat16};

struct Request {
  const ProviderFactory* factory;
  ProviderOptions options;
  std::shared_ptr<ProviderSource> source;  // null: of the process's table
};

/// The session's providers, then those of the environment that it does not name, then CPU.
std::vector<Request> MergeRequests(const SessionOptions& session, const Environment::State& environment) {
  std::vector<Request> merged;
  const auto find = [&](const ProviderFactory* factory) {
    return std::find_if(merged.begin(), merged.end(), [&](const Request& other) {
      return other.factory == factory || other.factory->name == factory->name;
    });
  };
  for (const ProviderRequest& request : session.providers) {
    Request known{nullptr, request.options, SourceOf(request, environment)};
    known.factory = known.source == nullptr ? &FactoryNamed(request.name) : &known.source->factory();
    Require(find(known.factory) == merged.end(),
            "execution provider '{}' is named twice; name it once with all its options", known.factory->name);
    merged.push_back(std::move(known));
  }
  for (const ProviderRequest& request : environment.options.default_providers) {
    const ProviderFactory& factory = FactoryNamed(request.name);
    const auto own = find(&factory);
    if (own == merged.end()) {
      merged.push_back({&factory, request.options, nullptr});
    } else {
      own->options.insert(request.options.begin(), request.options.end());  // what the session says stays
    }
  }
  const ProviderFactory* cpu = FindProvider(kCpuProvider);
  if (find(cpu) == merged.end()) merged.push_back({cpu, {}, nullptr});
  std::stable_partition(merged.begin(), merged.end(), [&](const Request& request) { return request.factory != cpu; });
  return merged;
}

/// So that whoever took all of available_providers() sees what is not among them.
void ReportLeftOut(PlacementReport& report) {
  for (const ProviderFactory* factory : AllProviders()) {
    const bool named =
        std::ranges::any_of(report.providers, [&](const auto& entry) { return entry.name == factory->name; });
    std::string why = named ? "" : WhyLeftOut(*factory);
    if (!why.empty()) report.providers.push_back({std::string(factory->name), std::move(why), 0});
  }
}

}  // namespace

const ProviderFactory& FactoryNamed(std::string_view name) {
  const ProviderFactory* factory = FindProvider(name);
  if (factory == nullptr) {
    Fail(ErrorCode::kInvalidArgument, "there is no execution provider '{}' in this build (available: {})", name,
         JoinNames(AllProviders(), [](const ProviderFactory* known) { return std::string(known->name); }));
  }
  return *factory;
}

std::shared_ptr<ProviderSource> SourceOf(const ProviderRequest& request, const Environment::State& environment) {
  if (request.source != nullptr || FindProvider(request.name) != nullptr) return request.source;
  const std::shared_ptr<ProviderLibraries> libraries = environment.libraries();
  return libraries == nullptr ? nullptr : libraries->Find(request.name);
}

void SkipProvider(std::string_view name, const std::exception& error, const SessionOptions& options, const Logger& log,
                  PlacementReport& report) {
  if (options.error_on_failure || name == kCpuProvider) {
    Fail(ErrorCode::kEpFail, "{} cannot start: {}; leave it out of the providers that are asked for", name, error.what());
  }
  log(LogLevel::kWarning, "{} is skipped: {}", name, error.what());
  const auto known =
      std::find_if(report.providers.begin(), report.providers.end(), [&](const auto& entry) { return entry.name == name; });
  if (known != report.providers.end()) {
    known->status = error.what();
  } else {
    report.providers.push_back({std::string(name), error.what(), 0});
  }
}

std::vector<ActiveProvider> StartProviders(const SessionOptions& options, const Environment::State& environment,
                                           Precision precision, const Logger& log, PlacementReport& report) {
  std::vector<ActiveProvider> active;
  std::string rounds(precision == Precision::kFloat32 ? "" : NameOf(precision));
  std::string asked, found;  // the last precision looked at, so that one that two providers are given is warned of once
  // What the provider would refuse stays, for the error that tells what it takes.
  const auto usable = [&](const ProviderFactory& factory, const std::string& requested) {
    const auto* known = std::find_if(std::begin(kRoundings), std::end(kRoundings),
                                     [&](Precision each) { return NameOf(each) == requested; });
    if (known == std::end(kRoundings) || !Offers(factory, requested)) return requested;
    if (asked != requested)
      found = NameOf(UsablePrecision(*known, fmt::format("option precision of {}", factory.name), log));
    asked = requested;
    return found;
  };
  for (const Request& request : MergeRequests(options, environment)) {
    const ProviderFactory* factory = request.factory;
    ProviderOptions given = request.options;
    const auto own = given.find(kPrecisionOption);
    if (own != given.end()) {
      own->second = usable(*factory, own->second);
      if (precision == Precision::kFloat32) rounds = own->second;
    }
    if (Offers(*factory, rounds)) given.emplace(kPrecisionOption, rounds);
    for (const auto& [name, value] : given) RequireWhole(factory->name, name, value);
    ProviderOptions checked = request.source != nullptr ? given : CheckOptions(factory->name, factory->options, given);
    try {
      std::unique_ptr<ExecutionProvider> provider =
          request.source != nullptr ? request.source->Create(checked, options) : factory->create(checked);
      provider->set_options(std::move(checked));
      const std::string device = provider->DeviceName();
      if (!device.empty()) log(LogLevel::kInfo, "{} computes on {}", factory->name, device);
      active.push_back({factory, std::move(provider), request.source});
      report.providers.push_back({std::string(factory->name), "active", 0, device});
    } catch (const std::exception& error) {
      SkipProvider(factory->name, error, options, log, report);
    }
  }
  ReportLeftOut(report);
  return active;
}

}  // namespace tessera
