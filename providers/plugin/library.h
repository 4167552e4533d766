#pragma once

// A library of execution providers: its file, its factories, and the devices that these offer.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "bindings/c/devices.h"
#include "bindings/c/logger.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "plugin/transfer.h"

namespace tessera::plugin {

/// Texts by key, of sessions and environments.
using Entries = std::map<std::string, std::string, std::less<>>;

/// Loaded while anything refers to it: what an environment has registered, and sessions' providers.
class Library {
 public:
  /// Opens the file, makes its factories and asks which of the devices they can use. Throws Error that says what is wrong
  /// with the library; it is closed again then.
  Library(std::string name, const std::filesystem::path& file, std::span<const OrtHardwareDevice* const> hardware);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& name() const noexcept { return name_; }
  std::span<const std::unique_ptr<OrtEpDevice>> devices() const noexcept { return devices_; }
  std::span<OrtEpFactory* const> factories() const noexcept { return factories_; }

  /// An allocator of a device's memory for whoever asks, made when the first one does; null: the device's provider says
  /// that the processor's serves.
  OrtAllocator* SharedAllocator(const OrtEpDevice& device, const OrtMemoryInfo& memory, const OrtKeyValuePairs* options);
  void ReleaseSharedAllocator(const OrtMemoryInfo& memory);
  /// Copies between memories that the library knows; false where it does not know them.
  bool Copy(const OrtValue& from, OrtValue& to, OrtSyncStream* stream);
  /// Null: there is none.
  OrtAllocator* FindSharedAllocator(const OrtMemoryInfo& memory);

 private:
  struct Shared {
    OrtEpFactory* factory;
    const OrtMemoryInfo* memory;
    OrtAllocator* allocator;
  };

  void Open(const std::filesystem::path& file);
  void MakeFactories();
  void AskForDevices(OrtEpFactory& factory, std::span<const OrtHardwareDevice* const> hardware,
                     const std::filesystem::path& file);
  void Close() noexcept;

  const std::string name_;
  const OrtLogger logger_;
  void* handle_ = nullptr;
  CreateEpApiFactoriesFn create_ = nullptr;
  ReleaseEpApiFactoryFn release_ = nullptr;
  std::vector<OrtEpFactory*> factories_;
  std::vector<std::unique_ptr<OrtEpDevice>> devices_;
  std::mutex mutex_;
  std::vector<Shared> shared_;
  std::vector<std::unique_ptr<Transfer>> transfers_;  // by factory, null where it has none; made when first asked for
};

}  // namespace tessera::plugin
