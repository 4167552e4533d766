#pragma once

// The devices of the machine, as providers are offered them.

#include <memory>
#include <string_view>
#include <vector>

#include "bindings/c/key_values.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/memory.h"

struct OrtHardwareDevice {
  OrtHardwareDeviceType type = OrtHardwareDeviceType_CPU;
  uint32_t vendor_id = 0, device_id = 0;  // of PCI, but for processors
  std::string vendor;
  OrtKeyValuePairs metadata;
};

namespace tessera::c_abi {

using HardwareDevices = std::vector<std::unique_ptr<OrtHardwareDevice>>;

/// An environment's entry that stands for the machine's devices: "cpu:0x8086:0x0:Intel;gpu:0x10de:0x2330", each with type,
/// vendor id and, where they are known, device id and vendor. "+" before the first: they come on top of the machine's.
inline constexpr std::string_view kHardwareEntry = "tessera.hardware_devices";

DeviceType TypeOf(OrtHardwareDeviceType type) noexcept;

/// The processor by what it says of itself, GPUs by the kernel's display devices, NPUs by its accelerators.
HardwareDevices FindHardware();

/// What the entry's text says. Throws Error for what it does not mean.
HardwareDevices ParseHardware(std::string_view text);

}  // namespace tessera::c_abi
