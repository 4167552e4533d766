#pragma once

#include "bindings/c/env.h"
#include "bindings/c/hardware.h"
#include "bindings/c/key_values.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/memory.h"

/// A provider on a device that it can use.
struct OrtEpDevice {
  tessera::c_abi::Mark<OrtEpDevice> mark;
  std::string provider, vendor;
  OrtKeyValuePairs metadata, options;
  const OrtHardwareDevice* device = nullptr;
  const OrtMemoryInfo* memory = nullptr;       // null: it has none of its own
  const OrtMemoryInfo* host_memory = nullptr;  // that the device and the processor reach
  OrtEpFactory* factory = nullptr;             // of a library's provider; null: it is built in
};

namespace tessera::c_abi {

/// The device whose memory it is; null where that is none of GetEpDevices.
const OrtEpDevice* DeviceOf(const MemoryInfo& memory, const Environment::State& environment);

/// The processor as the provider that is always there has it.
const OrtEpDevice& CpuDevice();

}  // namespace tessera::c_abi
