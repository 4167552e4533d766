#include "bindings/c/package/variant_choice.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/ascii.h"
#include "bindings/c/compatibility.h"
#include "bindings/c/devices.h"
#include "bindings/c/entry.h"
#include "bindings/c/package/package_options.h"
#include "bindings/c/session_options.h"
#include "plugin/libraries.h"

namespace tessera::c_abi {
namespace {

/// A library's provider, which is asked what it can make of a variant.
class AskedProvider {
 public:
  /// Keeps the library as long as it lives. Throws Error where that is registered no more.
  explicit AskedProvider(const OrtModelPackageOptions& options) {
    if (options.devices.empty()) return;
    library_ = plugin::Libraries::Of(*options.environment.state()).LibraryOf(*options.devices.front());
    Require(library_ != nullptr, "the library of {} was unregistered", options.provider);
    factory_ = options.devices.front()->factory;
    for (const OrtEpDevice* device : options.devices) hardware_.push_back(device->device);
  }

  /// How well the variant suits it; nothing: not at all.
  std::optional<int> ScoreOf(const PackageVariant& variant) const {
    std::vector<const OrtHardwareDevice*> suited = hardware_;
    if (!variant.device.empty()) {
      std::erase_if(suited, [&](const OrtHardwareDevice* device) { return !Is(*device, variant.device); });
      if (suited.empty()) return std::nullopt;  // providers that are built in say no devices
      suited.resize(1);
    }
    switch (CompatibilityOf(variant.compatibility, suited)) {
      case OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL: return 100;
      case OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION: return 50;
      case OrtCompiledModelCompatibility_EP_UNSUPPORTED: return std::nullopt;
      default: return 0;
    }
  }

 private:
  static bool Is(const OrtHardwareDevice& device, std::string_view kind) {
    const std::string lower = AsciiLower(kind);
    switch (device.type) {
      case OrtHardwareDeviceType_CPU: return lower == "cpu";
      case OrtHardwareDeviceType_GPU: return lower == "gpu";
      case OrtHardwareDeviceType_NPU: return lower == "npu";
      default: return false;
    }
  }

  /// What the provider cannot say leaves others before the variant; where it fails, the variant is none for it.
  OrtCompiledModelCompatibility CompatibilityOf(const std::string& info,
                                                const std::vector<const OrtHardwareDevice*>& hardware) const {
    OrtCompiledModelCompatibility answer = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
    if (info.empty()) return answer;
    OrtStatus* failed = AskCompatibility(factory_, hardware, info.c_str(), answer);
    if (failed == nullptr) return answer;
    ReleaseStatus(failed);
    return OrtCompiledModelCompatibility_EP_UNSUPPORTED;
  }

  std::shared_ptr<const void> library_;
  OrtEpFactory* factory_ = nullptr;
  std::vector<const OrtHardwareDevice*> hardware_;
};

/// Anybody can write into a manifest that the package is installed; that it was, only the program knows.
void RequireInside(const PackagePlaces& places, const PackageVariant& variant, bool trusts_installed) {
  if (!places.confined && trusts_installed) return;
  const auto check = [&](const std::filesystem::path& path) {
    if (path.empty() || places.Hold(path)) return;
    Fail(ErrorCode::kFail,
         "variant '{}' leads to '{}', outside of its package '{}'; of installed packages that you trust, allow it by the "
         "entry {}=1 of the session options that the package is opened for",
         variant.name, path.string(), places.root.string(), kTrustInstalled);
  };
  check(variant.folder);
  check(variant.model);
  for (const auto& [key, value] : variant.session_options) {
    if (IsPathOption(key)) check(value);
  }
}

}  // namespace

OrtModelPackageOptions* PackageOptionsOf(const OrtEnv& env, const OrtSessionOptions& session) {
  OrtSessionOptions chosen = session;
  ChooseDevices(chosen, env);
  auto options = std::make_unique<OrtModelPackageOptions>(OrtModelPackageOptions{.environment = env.environment});
  options->provider = chosen.first_provider.empty() ? CpuDevice().provider : chosen.first_provider;
  options->devices = chosen.first_devices;
  const auto request = std::ranges::find(chosen.core.providers, options->provider, &ProviderRequest::name);
  if (request != chosen.core.providers.end()) options->request = *request;
  const auto trust = session.config.find(kTrustInstalled);
  options->trusts_installed = trust != session.config.end() && trust->second == "1";
  return options.release();
}

const PackageVariant& ChooseVariant(const PackagePlaces& places, const PackageComponent& component,
                                    const OrtModelPackageOptions& options) {
  const AskedProvider provider(options);
  const PackageVariant* best = nullptr;
  int best_score = -1;
  for (const PackageVariant& variant : component.variants) {
    if (variant.provider != options.provider) continue;
    const std::optional<int> score = provider.ScoreOf(variant);
    if (!score || *score <= best_score) continue;  // of equal ones, the first
    best = &variant;
    best_score = *score;
  }
  if (best == nullptr) {
    Fail(ErrorCode::kFail, "component '{}' has no variant for {} and its devices; see ModelPackage_GetVariantEpName",
         component.name, options.provider);
  }
  RequireInside(places, *best, options.trusts_installed);
  return *best;
}

}  // namespace tessera::c_abi
