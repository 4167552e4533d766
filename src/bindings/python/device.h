#pragma once

// Devices and memories as Python programs name them.

#include <string>
#include <string_view>

#include "tessera/memory.h"

namespace tessera::python {

/// Kind, memory, vendor and number of a device.
struct Device {
  int type = 0;  // 0: the processor, 1: a GPU, 2: an NPU
  int memory_type = 0;
  int vendor = 0;
  int id = 0;
};

/// By name: "cpu", "cuda", "gpu", "npu", ... Throws Error for a name that nobody knows.
Device DeviceNamed(std::string_view name, int id, int vendor = -1);
/// What programs compare with "cpu", "cuda", "gpu".
std::string_view NameOf(const MemoryInfo& memory) noexcept;
/// The memory of a device. Throws Error for devices that Tessera has no memory of.
MemoryInfo MemoryOf(const Device& device);

}  // namespace tessera::python
