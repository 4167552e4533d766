// Libraries of providers: registered by clients, and the devices that they make.

#include <algorithm>

#include "bindings/c/allocator.h"
#include "bindings/c/compatibility.h"
#include "bindings/c/devices.h"
#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"
#include "plugin/libraries.h"

/// Why a provider cannot use a device.
struct OrtDeviceEpIncompatibilityDetails {
  uint32_t reasons = OrtDeviceEpIncompatibility_NONE;
  int32_t code = 0;
  std::string notes;
};

namespace tessera::c_abi {
namespace {

using plugin::Libraries;

Libraries& LibrariesOf(OrtEnv* env) { return Libraries::Of(*Given(env, "the environment").environment.state()); }

const OrtMemoryInfo& MemoryOf(const OrtEpDevice& device, OrtDeviceMemoryType type) {
  const OrtMemoryInfo* memory = type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? device.host_memory : device.memory;
  Require(memory != nullptr, "{} names no memory of that kind on this device", device.provider);
  return *memory;
}

}  // namespace

OrtStatusPtr RegisterExecutionProviderLibrary(OrtEnv* env, const char* registration_name, const ORTCHAR_T* path) noexcept {
  return Guarded([&] {
    Libraries& libraries = LibrariesOf(env);
    libraries.Register(&Given(registration_name, "the name"), &Given(path, "the path"));
    env->TellDevices(libraries.devices());
  });
}

OrtStatusPtr UnregisterExecutionProviderLibrary(OrtEnv* env, const char* registration_name) noexcept {
  return Guarded([&] {
    Libraries& libraries = LibrariesOf(env);
    libraries.Unregister(&Given(registration_name, "the name"));
    env->TellDevices(libraries.devices());
  });
}

OrtStatusPtr CreateEpDevice(OrtEpFactory* ep_factory, const OrtHardwareDevice* hardware_device,
                            const OrtKeyValuePairs* ep_metadata, const OrtKeyValuePairs* ep_options,
                            OrtEpDevice** ep_device) noexcept {
  return Guarded([&] {
    OrtEpFactory& factory = Given(ep_factory, "the factory");
    Given(ep_device, "out") = nullptr;
    Require(factory.GetName != nullptr && factory.GetVendor != nullptr, "the factory has no GetName or GetVendor");
    auto made = std::make_unique<OrtEpDevice>();
    made->factory = &factory;
    made->device = &Given(hardware_device, "the hardware device");
    made->provider = TextOf(factory.GetName(&factory));
    made->vendor = TextOf(factory.GetVendor(&factory));
    Require(!made->provider.empty(), "the factory says no name");
    if (ep_metadata != nullptr) made->metadata = *ep_metadata;
    if (ep_options != nullptr) made->options = *ep_options;
    if (factory.ort_version_supported >= 23 && factory.GetVersion != nullptr)
      made->metadata.Set("version", TextOf(factory.GetVersion(&factory)));
    *ep_device = made.release();
  });
}

void ReleaseEpDevice(OrtEpDevice* input) { Release(input); }

OrtStatusPtr EpDevice_AddAllocatorInfo(OrtEpDevice* ep_device, const OrtMemoryInfo* allocator_memory_info) noexcept {
  return Guarded([&] {
    OrtEpDevice& device = Given(ep_device, "the device");
    const OrtMemoryInfo& info = Given(allocator_memory_info, "the memory info");
    if (info.allocator == OrtReadOnlyAllocator) return;  // constants lie in the memory for all else
    (info.kind == OrtDeviceMemoryType_HOST_ACCESSIBLE ? device.host_memory : device.memory) = Kept(info);
  });
}

OrtStatusPtr CreateHardwareDevice(OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id,
                                  const char* vendor_name, const OrtKeyValuePairs* metadata,
                                  OrtHardwareDevice** hardware_device) noexcept {
  return Guarded([&] {
    auto made = std::make_unique<OrtHardwareDevice>();
    made->type = type;
    made->vendor_id = vendor_id;
    made->device_id = device_id;
    made->vendor = &Given(vendor_name, "the vendor's name");
    if (metadata != nullptr) made->metadata = *metadata;
    Give(hardware_device, [&] { return made.release(); });
  });
}

void ReleaseHardwareDevice(OrtHardwareDevice* input) { delete input; }

OrtStatusPtr GetEnvConfigEntries(OrtKeyValuePairs** config_entries) noexcept {
  return Making(config_entries, [&] { return PairsOf(plugin::CurrentConfig()).release(); });
}

OrtStatusPtr CreateSharedAllocator(OrtEnv* env, const OrtEpDevice* ep_device, OrtDeviceMemoryType mem_type,
                                   OrtAllocatorType /*allocator_type*/, const OrtKeyValuePairs* allocator_options,
                                   OrtAllocator** allocator) noexcept {
  return Guarded([&] {
    const OrtEpDevice& device = Given(ep_device, "the device");
    const auto library = LibrariesOf(env).LibraryOf(device);
    if (library == nullptr && device.memory == nullptr) {
      if (allocator != nullptr) *allocator = &DefaultAllocator();
      return;
    }
    Require(library != nullptr, "the device is of no library that is registered");
    const OrtMemoryInfo& memory = MemoryOf(device, mem_type);
    library->ReleaseSharedAllocator(memory);  // the new one takes its place
    OrtAllocator* made = library->SharedAllocator(device, memory, allocator_options);
    if (allocator != nullptr) *allocator = made != nullptr ? made : &DefaultAllocator();
  });
}

OrtStatusPtr GetSharedAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info, OrtAllocator** allocator) noexcept {
  return Guarded([&] {
    Libraries& libraries = LibrariesOf(env);
    const OrtMemoryInfo& asked = Given(mem_info, "the memory info");
    Given(allocator, "out") = nullptr;
    if (MemoryOf(asked) == MemoryInfo() && asked.kind == OrtDeviceMemoryType_DEFAULT) {
      *allocator = &DefaultAllocator();
      return;
    }
    for (const OrtEpDevice* device : libraries.devices()) {
      for (const OrtMemoryInfo* memory : {device->memory, device->host_memory}) {
        if (memory == nullptr || MemoryOf(*memory) != MemoryOf(asked)) continue;
        const auto library = libraries.LibraryOf(*device);
        if (library != nullptr) *allocator = library->SharedAllocator(*device, *memory, nullptr);
        if (*allocator != nullptr) return;
      }
    }
  });
}

OrtStatusPtr ReleaseSharedAllocator(OrtEnv* env, const OrtEpDevice* ep_device, OrtDeviceMemoryType mem_type) noexcept {
  return Guarded([&] {
    const OrtEpDevice& device = Given(ep_device, "the device");
    const auto library = LibrariesOf(env).LibraryOf(device);
    Require(library != nullptr, "the device is of no library that is registered, and has no allocator that is shared");
    library->ReleaseSharedAllocator(MemoryOf(device, mem_type));
  });
}

OrtStatusPtr GetHardwareDeviceEpIncompatibilityDetails(const OrtEnv* env, const char* ep_name, const OrtHardwareDevice* hw,
                                                       OrtDeviceEpIncompatibilityDetails** details) noexcept {
  return Guarded([&] {
    const std::string_view name = &Given(ep_name, "the provider's name");
    const OrtHardwareDevice& device = Given(hw, "the device");
    auto made = std::make_unique<OrtDeviceEpIncompatibilityDetails>();
    OrtEpFactory* factory = nullptr;
    for (const auto& library : LibrariesOf(const_cast<OrtEnv*>(env)).all()) {
      for (OrtEpFactory* of_library : library->factories()) {
        if (TextOf(of_library->GetName(of_library)) == name) factory = of_library;
      }
    }
    Require(factory != nullptr, "no library that is registered has a provider '{}'", name);
    if (factory->ort_version_supported >= 24 && factory->GetHardwareDeviceIncompatibilityDetails != nullptr)
      ThrowIfFailed(factory->GetHardwareDeviceIncompatibilityDetails(factory, &device, made.get()));
    Give(details, [&] { return made.release(); });
  });
}

OrtStatusPtr DeviceEpIncompatibilityDetails_SetDetails(OrtDeviceEpIncompatibilityDetails* details, uint32_t reasons_bitmask,
                                                       int32_t error_code, const char* notes) noexcept {
  return Guarded([&] {
    OrtDeviceEpIncompatibilityDetails& own = Given(details, "the details");
    own.reasons = reasons_bitmask;
    own.code = error_code;
    own.notes = TextOf(notes);
  });
}

OrtStatusPtr DeviceEpIncompatibilityDetails_GetReasonsBitmask(const OrtDeviceEpIncompatibilityDetails* details,
                                                              uint32_t* reasons_bitmask) noexcept {
  return Guarded([&] { Given(reasons_bitmask, "out") = Given(details, "the details").reasons; });
}

// Null where nothing is noted.
OrtStatusPtr DeviceEpIncompatibilityDetails_GetNotes(const OrtDeviceEpIncompatibilityDetails* details,
                                                     const char** notes) noexcept {
  return Guarded([&] {
    const std::string& text = Given(details, "the details").notes;
    Given(notes, "out") = text.empty() ? nullptr : text.c_str();
  });
}

OrtStatusPtr DeviceEpIncompatibilityDetails_GetErrorCode(const OrtDeviceEpIncompatibilityDetails* details,
                                                         int32_t* error_code) noexcept {
  return Guarded([&] { Given(error_code, "out") = Given(details, "the details").code; });
}

void ReleaseDeviceEpIncompatibilityDetails(OrtDeviceEpIncompatibilityDetails* input) { delete input; }

OrtStatusPtr GetModelCompatibilityForEpDevices(const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
                                               const char* compatibility_info,
                                               OrtCompiledModelCompatibility* out_status) noexcept {
  return Guarded([&] {
    Given(out_status, "out") = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
    Require(num_ep_devices > 0 && ep_devices != nullptr, "no device is given; GetEpDevices lists them");
    OrtEpFactory* factory = Given(ep_devices[0], "a device").factory;
    std::vector<const OrtHardwareDevice*> hardware;
    for (size_t i = 0; i < num_ep_devices; ++i) {
      const OrtEpDevice& device = Given(ep_devices[i], "a device");
      Require(device.factory == factory, "the devices are of {} and {}; give those of one provider",
              ep_devices[0]->provider, device.provider);
      hardware.push_back(device.device);
    }
    const char* info = &Given(compatibility_info, "the compatibility info");
    ThrowIfFailed(AskCompatibility(factory, hardware, info, *out_status));
  });
}

}  // namespace tessera::c_abi
