// Registered libraries in the application's interface.

#include "base/check.h"
#include "base/only_errors.h"
#include "plugin/libraries.h"
#include "plugin/source.h"
#include "tessera/session.h"

namespace tessera {
void Environment::RegisterProviderLibrary(const std::string& name, const std::filesystem::path& file) {
  OnlyErrors([&] { plugin::Libraries::Of(*state_).Register(name, file); });
}

void Environment::UnregisterProviderLibrary(std::string_view name) {
  OnlyErrors([&] { plugin::Libraries::Of(*state_).Unregister(name); });
}

std::vector<ProviderDevice> Environment::provider_devices() const {
  std::vector<ProviderDevice> devices;
  if (state_->libraries() == nullptr) return devices;
  for (const auto& library : plugin::Libraries::Of(*state_).all()) {
    for (const auto& device : library->devices()) {
      devices.push_back(
          {.provider = device->provider,
           .vendor = device->vendor,
           .library = library->name(),
           .metadata = device->metadata.entries,
           .options = device->options.entries,
           .type = c_abi::TypeOf(device->device->type),
           .vendor_id = device->device->vendor_id,
           .device_id = device->device->device_id,
           .hardware_vendor = device->device->vendor,
           .source = std::make_shared<plugin::Source>(library, std::vector<const OrtEpDevice*>{device.get()})});
    }
  }
  return devices;
}

ProviderRequest Environment::RequestFor(std::span<const ProviderDevice> devices, ProviderOptions provider_options) const {
  std::vector<const OrtEpDevice*> chosen;
  for (const ProviderDevice& device : devices) {
    const auto* source = dynamic_cast<const plugin::Source*>(device.source.get());
    Require(source != nullptr, "a device is given that is none of provider_devices()");
    chosen.insert(chosen.end(), source->devices().begin(), source->devices().end());
  }
  Require(!chosen.empty(), "no device is given; provider_devices() lists them");
  return {devices.front().provider, std::move(provider_options), plugin::Libraries::Of(*state_).SourceFor(chosen)};
}

}  // namespace tessera
