#include "plugin/ep.h"

#include "base/check.h"
#include "bindings/c/entry.h"
#include "bindings/c/logger.h"
#include "bindings/c/session_options.h"
#include "plugin/call.h"

namespace tessera::plugin {
namespace {

// Versions of the interface: the first in which providers are asked for parts of graphs, say whether they leave weights
// out, and use the program's functions for what lies outside of models.
constexpr uint32_t kFirstWithGraphs = 23, kFirstWithWeightless = 29, kFirstWithContextData = 31;
constexpr uint32_t kReadsContextData = 1, kWritesContextData = 2;

/// Which functions for context data the library says that it uses.
uint32_t UsesOf(const OrtEp& ep) {
  uint32_t uses = 0;
  if (ep.ort_version_supported >= kFirstWithContextData && ep.GetEpContextDataSupport != nullptr)
    c_abi::ThrowIfFailed(Call(ep.GetEpContextDataSupport, &ep, &uses));
  Require((uses & ~(kReadsContextData | kWritesContextData)) == 0,
          "the library says that it uses context data in ways {:#x}, which are not known", uses);
  return uses;
}

/// Models without weights are asked for by an entry that a library may not know.
void WarnOfWeights(const OrtEp& ep, const Entries& config, const Logger& log) {
  const auto entry = config.find("ep.enable_weightless");
  if (entry == config.end() || entry->second != "1") return;
  OrtWeightlessSupport support = OrtWeightlessSupport_NONE;
  if (ep.ort_version_supported >= kFirstWithWeightless && ep.GetWeightlessSupport != nullptr)
    c_abi::ThrowIfFailed(Call(ep.GetWeightlessSupport, &ep, &support));
  if (support == OrtWeightlessSupport_NONE)
    log(LogLevel::kWarning, "ep.enable_weightless is set, and the library does not say that it leaves weights out");
}

}  // namespace

Ep::Ep(std::shared_ptr<Library> library, OrtEpFactory& factory, OrtEp& ep, std::vector<const OrtEpDevice*> devices,
       std::unique_ptr<OrtLogger> logger, const OrtSessionOptions& shown)
    : library_(std::move(library)),
      factory_(factory),
      ep_(ep),
      devices_(std::move(devices)),
      logger_(std::move(logger)),
      config_(shown.config) {
  try {
    Require(ep.ort_version_supported >= kFirstWithGraphs,
            "the library's provider was built for version {} of the interface; {} is the first that takes graphs",
            ep.ort_version_supported, kFirstWithGraphs);
    Require(ep.GetName != nullptr && ep.GetCapability != nullptr, "the library's provider has no GetName or GetCapability");
    const char* name = ep.GetName(&ep);
    Require(name != nullptr && *name != '\0', "the library's provider says no name");
    name_ = name;
    const uint32_t uses = UsesOf(ep);
    ignores_read_ = shown.context_functions.read != nullptr && (uses & kReadsContextData) == 0;
    ignores_write_ = shown.context_functions.write != nullptr && (uses & kWritesContextData) == 0;
    WarnOfWeights(ep, config_, logger_->logger);
  } catch (...) {
    factory_.ReleaseEp(&factory_, &ep_);
    throw;
  }
}

Ep::~Ep() {
  Quietly([&] { factory_.ReleaseEp(&factory_, &ep_); });
}

void Ep::RequireWritesContextData() const {
  if (!ignores_write_) return;
  Fail(ErrorCode::kFail,
       "the program is to keep what {} compiles, but its library does not use functions for that: unset it", name_);
}

void Ep::RequireReadsContextData() const {
  if (!ignores_read_) return;
  Fail(ErrorCode::kFail, "the program gives what {} compiled, but its library does not use functions for that: unset it",
       name_);
}

}  // namespace tessera::plugin
