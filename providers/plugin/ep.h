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
  /// Takes `ep` over, which was made with the options that are shown to it. Throws Error where functions are missing that
  /// cannot be done without.
  Ep(std::shared_ptr<Library> library, OrtEpFactory& factory, OrtEp& ep, std::vector<const OrtEpDevice*> devices,
     std::unique_ptr<OrtLogger> logger, const OrtSessionOptions& shown);
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
  /// Throws Error where the program is to keep what is compiled outside of models, or gives it, by functions that the
  /// library does not say it uses.
  void RequireWritesContextData() const;
  void RequireReadsContextData() const;

 private:
  const std::shared_ptr<Library> library_;
  OrtEpFactory& factory_;
  OrtEp& ep_;
  const std::vector<const OrtEpDevice*> devices_;
  const std::unique_ptr<OrtLogger> logger_;
  const Entries config_;
  std::string name_;
  bool ignores_read_ = false, ignores_write_ = false;  // the program's functions for context data
};

}  // namespace tessera::plugin
