#include "plugin/libraries.h"

#include <algorithm>
#include <cstdlib>

#include "base/ascii.h"
#include "base/check.h"
#include "plugin/source.h"

namespace tessera::plugin {
namespace {

/// Stands for kHardwareEntry in environments that do not have it, which clients make that nobody can change.
constexpr char kHardwareVariable[] = "TESSERA_HARDWARE_DEVICES";

struct Current {
  ForkMutex mutex;
  Entries config;
};

/// Never freed: libraries may ask while the process ends.
Current& TheCurrent() {
  static Current& current = *new Current;
  return current;
}

c_abi::HardwareDevices HardwareOf(const Entries& config) {
  const auto entry = config.find(c_abi::kHardwareEntry);
  if (entry != config.end()) return c_abi::ParseHardware(entry->second);
  const char* variable = std::getenv(kHardwareVariable);
  return variable == nullptr ? c_abi::FindHardware() : c_abi::ParseHardware(variable);
}

}  // namespace

Entries CurrentConfig() {
  Current& current = TheCurrent();
  const std::lock_guard lock(current.mutex);
  return current.config;
}

Libraries::Libraries(const Entries& config) : hardware_(HardwareOf(config)) {
  Current& current = TheCurrent();
  const std::lock_guard lock(current.mutex);
  current.config = config;
}

Libraries& Libraries::Of(Environment::State& environment) {
  return static_cast<Libraries&>(
      *environment.libraries([&] { return std::make_shared<Libraries>(environment.options.config); }));
}

void Libraries::Register(const std::string& name, const std::filesystem::path& file) {
  Require(!name.empty(), "the library is to be registered under no name; give one");
  const std::lock_guard lock(mutex_);
  if (std::ranges::any_of(libraries_, [&](const auto& library) { return library->name() == name; }))
    Fail(ErrorCode::kFail, "a library is registered as '{}' already; unregister it first, or choose another name", name);
  libraries_.push_back(std::make_shared<Library>(name, file, hardware()));
}

void Libraries::Unregister(std::string_view name) {
  std::shared_ptr<Library> gone;  // closed without the lock
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(libraries_, [&](const auto& library) { return library->name() == name; });
    if (found == libraries_.end()) Fail(ErrorCode::kFail, "no library is registered as '{}'", name);
    if (found->use_count() > 1) {
      Fail(ErrorCode::kFail, "library '{}' is in use by {} sessions or what is left of them; release them first", name,
           found->use_count() - 1);
    }
    gone = std::move(*found);
    libraries_.erase(found);
  }
}

std::shared_ptr<Library> Libraries::LibraryOfHeld(const OrtEpDevice& device) const {
  for (const auto& library : libraries_) {
    if (std::ranges::any_of(library->devices(), [&](const auto& other) { return other.get() == &device; })) return library;
  }
  return nullptr;
}

std::shared_ptr<Library> Libraries::LibraryOf(const OrtEpDevice& device) {
  const std::lock_guard lock(mutex_);
  return LibraryOfHeld(device);
}

std::vector<std::shared_ptr<Library>> Libraries::all() {
  const std::lock_guard lock(mutex_);
  return libraries_;
}

std::shared_ptr<ProviderSource> Libraries::Find(std::string_view provider) {
  const std::lock_guard lock(mutex_);
  const std::string asked = AsciiLower(provider);
  for (const auto& library : libraries_) {
    std::vector<const OrtEpDevice*> devices;
    for (const auto& device : library->devices()) {
      const bool same_factory = devices.empty() || devices.front()->factory == device->factory;
      if (AsciiLower(device->provider) == asked && same_factory) devices.push_back(device.get());
    }
    if (!devices.empty()) return std::make_shared<Source>(library, std::move(devices));
  }
  return nullptr;
}

std::shared_ptr<ProviderSource> Libraries::SourceFor(std::span<const OrtEpDevice* const> devices) {
  Require(!devices.empty(), "no device is given");
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Library> library = LibraryOfHeld(*devices.front());
  Require(library != nullptr, "the device of {} is of no library that is registered", devices.front()->provider);
  for (const OrtEpDevice* device : devices) {
    Require(device->factory == devices.front()->factory && device->provider == devices.front()->provider,
            "the devices are of {} and {}; give those of one provider", devices.front()->provider, device->provider);
  }
  return std::make_shared<Source>(library, std::vector(devices.begin(), devices.end()));
}

std::vector<const OrtEpDevice*> Libraries::devices() {
  const std::lock_guard lock(mutex_);
  std::vector<const OrtEpDevice*> all;
  for (const auto& library : libraries_) {
    for (const auto& device : library->devices()) all.push_back(device.get());
  }
  return all;
}

std::vector<const OrtHardwareDevice*> Libraries::hardware() const {
  std::vector<const OrtHardwareDevice*> all;
  for (const auto& device : hardware_) all.push_back(device.get());
  return all;
}

}  // namespace tessera::plugin
