#pragma once

// A registered library's provider on some of its devices, from which sessions make their own.

#include <memory>
#include <string>
#include <vector>

#include "plugin/library.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::plugin {

class Source final : public ProviderSource {
 public:
  /// Devices of one factory of the library's, at least one.
  Source(const std::shared_ptr<Library>& library, std::vector<const OrtEpDevice*> devices);

  const std::vector<const OrtEpDevice*>& devices() const noexcept { return devices_; }
  const ProviderFactory& factory() const noexcept override { return factory_; }
  std::unique_ptr<ExecutionProvider> Create(const ProviderOptions& options, const SessionOptions& session) override;

 private:
  const std::weak_ptr<Library> library_;  // options that name devices keep no library from being unregistered
  const std::vector<const OrtEpDevice*> devices_;
  const std::string name_, library_name_;
  ProviderFactory factory_;
};

}  // namespace tessera::plugin
