#include "factory.h"

#include "provider.h"

namespace teaching {
namespace {

Factory* Of(OrtEpFactory* factory) { return static_cast<Factory*>(factory); }

}  // namespace

// The base is value-initialized: members that are not set here are null, which says that the library has no such function.
Factory::Factory(const Api& api) : OrtEpFactory{}, api_(api) {
  ort_version_supported = kApiVersion;

  GetName = [](const OrtEpFactory*) { return kProviderName; };
  GetVendor = [](const OrtEpFactory*) { return "Example"; };
  GetVendorId = [](const OrtEpFactory*) -> uint32_t { return 0; };  // of PCI, where the vendor has one
  GetVersion = [](const OrtEpFactory*) { return "1.0.0"; };         // of this library

  GetSupportedDevices = [](OrtEpFactory* factory, const OrtHardwareDevice* const* devices, size_t num_devices,
                           OrtEpDevice** found, size_t max_found, size_t* num_found) noexcept {
    return Of(factory)->api_.Guarded([&] { Of(factory)->FindDevices(devices, num_devices, found, max_found, num_found); });
  };

  // Once for each session that is to use the provider, with the devices that its client chose out of those that we found.
  CreateEp = [](OrtEpFactory* factory, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t num_devices,
                const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep) noexcept {
    return Of(factory)->api_.Guarded([&] {
      *ep = nullptr;
      if (num_devices != 1) throw Error(ORT_INVALID_ARGUMENT, "the teaching provider uses one device at a time");
      *ep = new Provider(Of(factory)->api_, *options, *logger);
    });
  };
  ReleaseEp = [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Provider*>(ep); };

  // Our tensors are where everybody's are: no copies to a device, no queues. (The first member may be null by the
  // interface, but runtimes call it unasked.) A provider of a device with memory of its own makes something here, sets
  // CreateAllocator and ReleaseAllocator, and tells each device its memory with EpDevice_AddAllocatorInfo; one with queues
  // sets CreateSyncStreamForDevice.
  CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
    *transfer = nullptr;
    return nullptr;
  };
  IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
}

/// Offered is all the hardware of the machine, ours or not. What we can use we pair with this factory.
void Factory::FindDevices(const OrtHardwareDevice* const* devices, size_t num_devices, OrtEpDevice** found,
                          size_t max_found, size_t* num_found) {
  *num_found = 0;
  for (size_t i = 0; i < num_devices && *num_found < max_found; ++i) {
    if (api_->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;

    // Shown to clients, which may choose by them, and options with their defaults. Both are copied by the call.
    OrtKeyValuePairs* metadata = nullptr;
    api_->CreateKeyValuePairs(&metadata);
    const Owned<OrtKeyValuePairs> keeps_metadata(metadata, api_->ReleaseKeyValuePairs);
    api_->AddKeyValuePair(metadata, "purpose", "teaching");
    OrtKeyValuePairs* options = nullptr;
    api_->CreateKeyValuePairs(&options);
    const Owned<OrtKeyValuePairs> keeps_options(options, api_->ReleaseKeyValuePairs);
    api_->AddKeyValuePair(options, "compile", "all");
    api_->AddKeyValuePair(options, "kernels", "all");

    api_.Check(api_.ep()->CreateEpDevice(this, devices[i], metadata, options, &found[*num_found]));
    ++*num_found;
    return;  // the first processor is enough
  }
}

}  // namespace teaching
