#include "plugin/ep.h"

#include "base/check.h"
#include "plugin/call.h"

namespace tessera::plugin {
namespace {

constexpr uint32_t kFirstWithGraphs = 23;  // of the interface in which providers are asked for parts of graphs

}  // namespace

Ep::Ep(std::shared_ptr<Library> library, OrtEpFactory& factory, OrtEp& ep, std::vector<const OrtEpDevice*> devices,
       std::unique_ptr<OrtLogger> logger, Entries config)
    : library_(std::move(library)),
      factory_(factory),
      ep_(ep),
      devices_(std::move(devices)),
      logger_(std::move(logger)),
      config_(std::move(config)) {
  try {
    Require(ep.ort_version_supported >= kFirstWithGraphs,
            "the library's provider was built for version {} of the interface; {} is the first that takes graphs",
            ep.ort_version_supported, kFirstWithGraphs);
    Require(ep.GetName != nullptr && ep.GetCapability != nullptr, "the library's provider has no GetName or GetCapability");
    const char* name = ep.GetName(&ep);
    Require(name != nullptr && *name != '\0', "the library's provider says no name");
    name_ = name;
  } catch (...) {
    factory_.ReleaseEp(&factory_, &ep_);
    throw;
  }
}

Ep::~Ep() {
  Quietly([&] { factory_.ReleaseEp(&factory_, &ep_); });
}

}  // namespace tessera::plugin
