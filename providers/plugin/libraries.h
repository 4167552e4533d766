#pragma once

// The libraries of providers that an environment has registered.

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork.h"
#include "bindings/c/hardware.h"
#include "plugin/library.h"
#include "session/environment.h"

namespace tessera::plugin {

class Libraries final : public ProviderLibraries {
 public:
  explicit Libraries(const Entries& config);

  /// Those of an environment, made when it is first asked.
  static Libraries& Of(Environment::State& environment);

  /// Throws Error(kFail) for a name that is registered, and where the library cannot be used; nothing has changed then.
  void Register(const std::string& name, const std::filesystem::path& file);
  /// Throws Error(kFail) for a name that is not registered, and while a session uses the library.
  void Unregister(std::string_view name);

  std::shared_ptr<ProviderSource> Find(std::string_view provider) override;
  /// A provider on these devices, all of one factory. Throws Error for others.
  std::shared_ptr<ProviderSource> SourceFor(std::span<const OrtEpDevice* const> devices);

  /// Of all libraries, in the order of their registration.
  std::vector<const OrtEpDevice*> devices();
  std::vector<const OrtHardwareDevice*> hardware() const;
  /// The library that offers the device; null: none.
  std::shared_ptr<Library> LibraryOf(const OrtEpDevice& device);
  std::vector<std::shared_ptr<Library>> all();

 private:
  std::shared_ptr<Library> LibraryOfHeld(const OrtEpDevice& device) const;

  const c_abi::HardwareDevices hardware_;
  ForkMutex mutex_;
  std::vector<std::shared_ptr<Library>> libraries_;
};

/// What the environment says that registered a library last: libraries ask for it without saying which they mean.
Entries CurrentConfig();

}  // namespace tessera::plugin
