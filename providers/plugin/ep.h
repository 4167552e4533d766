#pragma once

// A library's provider for one session, and what it lends.

#include <memory>
#include <string>
#include <vector>

#include "plugin/library.h"

namespace tessera::plugin {

/// Owned by the session's provider and by all that the library made through it.
class Ep {
 public:
  /// Takes `ep` over. Throws Error where functions are missing that cannot be done without.
  Ep(std::shared_ptr<Library> library, OrtEpFactory& factory, OrtEp& ep, std::vector<const OrtEpDevice*> devices,
     std::unique_ptr<OrtLogger> logger, Entries config);
  ~Ep();
  Ep(const Ep&) = delete;
  Ep& operator=(const Ep&) = delete;

  OrtEp* get() const noexcept { return &ep_; }
  OrtEp* operator->() const noexcept { return &ep_; }
  OrtEpFactory& factory() const noexcept { return factory_; }
  /// Whether the library was built for an interface that has the member; it may be null all the same.
  bool HasSince(uint32_t version) const noexcept { return ep_.ort_version_supported >= version; }
  const std::string& name() const noexcept { return name_; }
  const OrtLogger& logger() const noexcept { return *logger_; }
  const std::vector<const OrtEpDevice*>& devices() const noexcept { return devices_; }
  /// The session's entries as the library was shown them.
  const Entries& config() const noexcept { return config_; }

 private:
  const std::shared_ptr<Library> library_;
  OrtEpFactory& factory_;
  OrtEp& ep_;
  const std::vector<const OrtEpDevice*> devices_;
  const std::unique_ptr<OrtLogger> logger_;
  const Entries config_;
  std::string name_;
};

}  // namespace tessera::plugin
