#pragma once

#include "bindings/c/env.h"
#include "bindings/c/key_values.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/memory.h"

struct OrtHardwareDevice {
  OrtHardwareDeviceType type;
  uint32_t vendor_id, device_id;
  std::string vendor;
  OrtKeyValuePairs metadata;
};

/// A provider on a device that it can use.
struct OrtEpDevice {
  std::string provider, vendor;
  OrtKeyValuePairs metadata, options;
  const OrtHardwareDevice* device;
  const OrtMemoryInfo* memory;  // null: it has none of its own
};

namespace tessera::c_abi {

/// The device whose memory it is; null where that is none of GetEpDevices.
const OrtEpDevice* DeviceOf(const MemoryInfo& memory);

}  // namespace tessera::c_abi
