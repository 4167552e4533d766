#include "plugin/library.h"

#include <dlfcn.h>

#include <algorithm>

#include "base/check.h"
#include "bindings/c/entry.h"
#include "bindings/c/value.h"
#include "plugin/call.h"

extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace tessera::plugin {
namespace {

using c_abi::TextOf;
using c_abi::ThrowIfFailed;

constexpr size_t kMostFactories = 4, kMostDevices = 8;  // as ONNX Runtime gives room for
constexpr uint32_t kFirstVersion = 22;                  // of the interface that has libraries of providers
constexpr std::string_view kBridgePrefix = "libonnxruntime_providers_";

/// Providers of ONNX Runtime's that are written against its insides.
[[noreturn]] void FailForBridge(const std::filesystem::path& file, std::string_view detail) {
  Fail(ErrorCode::kFail,
       "{} is a provider that only ONNX Runtime itself can load, as it is written against its C++ insides ({}); use a "
       "library with CreateEpFactories (onnxruntime-ep-..., packages of the provider's vendor) or a provider that is built "
       "in",
       file.string(), detail);
}

}  // namespace

Library::Library(std::string name, const std::filesystem::path& file, std::span<const OrtHardwareDevice* const> hardware)
    : name_(std::move(name)), logger_{Logger(name_, LogLevel::kWarning)} {
  try {
    Open(file);
    MakeFactories();
    for (OrtEpFactory* factory : factories_) AskForDevices(*factory, hardware, file);
  } catch (...) {
    Close();
    throw;
  }
}

Library::~Library() { Close(); }

void Library::Open(const std::filesystem::path& file) {
  handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const std::string why = TextOf(dlerror());
    if (file.filename().string().starts_with(kBridgePrefix)) FailForBridge(file, why);
    Fail(ErrorCode::kFail, "library '{}' cannot be loaded: {}", name_, why);
  }
  create_ = reinterpret_cast<CreateEpApiFactoriesFn>(dlsym(handle_, "CreateEpFactories"));
  release_ = reinterpret_cast<ReleaseEpApiFactoryFn>(dlsym(handle_, "ReleaseEpFactory"));
  if (create_ != nullptr && release_ != nullptr) return;
  if (dlsym(handle_, "GetProvider") != nullptr) FailForBridge(file, "it has GetProvider");
  Fail(ErrorCode::kFail, "{} is no library of execution providers: it has no {}", file.string(),
       create_ == nullptr ? "CreateEpFactories" : "ReleaseEpFactory");
}

void Library::MakeFactories() {
  OrtEpFactory* factories[kMostFactories] = {};
  size_t count = 0;
  ThrowIfFailed(create_(name_.c_str(), TesseraGetOrtApiBase(), &logger_, factories, kMostFactories, &count));
  for (OrtEpFactory* factory : factories) {
    if (factory != nullptr) factories_.push_back(factory);
  }
  Require(count <= kMostFactories, "library '{}' says that it made {} factories, {} are the most", name_, count,
          kMostFactories);
  Require(count == factories_.size() && count > 0, "library '{}' says that it made {} factories, and gives {}", name_,
          count, factories_.size());
  for (const OrtEpFactory* factory : factories_) {
    Require(factory->ort_version_supported >= kFirstVersion && factory->GetName != nullptr &&
                factory->GetVendor != nullptr && factory->GetSupportedDevices != nullptr && factory->CreateEp != nullptr &&
                factory->ReleaseEp != nullptr,
            "library '{}' made a factory that is not filled in: version {}, and a function that is needed may be null",
            name_, factory->ort_version_supported);
  }
}

void Library::AskForDevices(OrtEpFactory& factory, std::span<const OrtHardwareDevice* const> hardware,
                            const std::filesystem::path& file) {
  OrtEpDevice* offered[kMostDevices] = {};
  size_t count = 0;
  const OrtStatusPtr status =
      Call(factory.GetSupportedDevices, &factory, hardware.data(), hardware.size(), offered, kMostDevices, &count);
  const size_t before = devices_.size();
  for (OrtEpDevice* device : offered) {  // they are ours, whatever it says of them
    const bool known = std::ranges::any_of(devices_, [&](const auto& other) { return other.get() == device; });
    if (device != nullptr && !known) devices_.emplace_back(device);
  }
  ThrowIfFailed(status);
  Require(count == devices_.size() - before, "library '{}' says that it offers {} devices, and gives {}", name_, count,
          devices_.size() - before);
  for (size_t i = before; i < devices_.size(); ++i) {
    Require(devices_[i]->factory == &factory, "library '{}' offers a device of another factory", name_);
    devices_[i]->metadata.Set("library_path", file.string());
  }
}

OrtAllocator* Library::SharedAllocator(const OrtEpDevice& device, const OrtMemoryInfo& memory,
                                       const OrtKeyValuePairs* options) {
  if (OrtAllocator* known = FindSharedAllocator(memory); known != nullptr) return known;
  OrtEpFactory& factory = *device.factory;
  if (factory.ort_version_supported < 23 || factory.CreateAllocator == nullptr) return nullptr;
  OrtAllocator* made = nullptr;
  ThrowIfFailed(Call(factory.CreateAllocator, &factory, &memory, options, &made));
  if (made == nullptr) return nullptr;
  Require(factory.ReleaseAllocator != nullptr, "library '{}' makes allocators that it cannot release", name_);
  const std::lock_guard lock(mutex_);
  shared_.push_back({&factory, &memory, made});
  return made;
}

OrtAllocator* Library::FindSharedAllocator(const OrtMemoryInfo& memory) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(shared_, [&](const Shared& shared) { return *shared.memory == memory; });
  return found == shared_.end() ? nullptr : found->allocator;
}

void Library::ReleaseSharedAllocator(const OrtMemoryInfo& memory) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(shared_, [&](const Shared& shared) { return *shared.memory == memory; });
  if (found == shared_.end()) return;
  found->factory->ReleaseAllocator(found->factory, found->allocator);
  shared_.erase(found);
}

bool Library::Copy(const OrtValue& from, OrtValue& to, OrtSyncStream* stream) {
  const MemoryInfo &source = c_abi::TensorIn(&from).memory(), &target = c_abi::TensorIn(&to).memory();
  Transfer* chosen = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (transfers_.empty()) {
      for (OrtEpFactory* factory : factories_) transfers_.push_back(Transfer::Make(*factory));
    }
    const auto found = std::ranges::find_if(
        transfers_, [&](const auto& transfer) { return transfer != nullptr && transfer->CanCopy(source, target); });
    if (found == transfers_.end()) return false;
    chosen = found->get();
  }
  chosen->Copy(from, to, stream);
  return true;
}

void Library::Close() noexcept {
  for (const Shared& shared : shared_) Quietly([&] { shared.factory->ReleaseAllocator(shared.factory, shared.allocator); });
  shared_.clear();
  transfers_.clear();
  devices_.clear();
  for (OrtEpFactory* factory : factories_) Quietly([&] { ThrowIfFailed(release_(factory)); });
  factories_.clear();
  if (handle_ != nullptr) dlclose(handle_);
  handle_ = nullptr;
}

}  // namespace tessera::plugin
