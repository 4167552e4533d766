#pragma once

// Devices and memories as Python programs name them.

#include <memory>
#include <string>
#include <string_view>

#include "bindings/c/memory_info.h"
#include "bindings/python/options.h"
#include "tessera/memory.h"

namespace tessera::python {

class PySession;

/// Descriptions that the library owns, which live as long as their provider.
template <class T>
struct Borrowed {
  const T* described;
};
using EpDevice = Borrowed<OrtEpDevice>;
using HardwareDevice = Borrowed<OrtHardwareDevice>;

/// OrtMemoryInfo, which Python programs own.
struct NamedMemory {
  OrtMemoryInfo info;
};

/// OrtSyncStream: work of a device, in its order.
struct DeviceStream {
  std::shared_ptr<OrtSyncStream> stream;
};

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

/// Lets a Python function choose devices where no provider is named; None: nobody is asked.
void SetSelectionDelegate(PySessionOptions& options, nb::object delegate);
/// That function, or None.
nb::object SelectionDelegate(const PySessionOptions& options);

/// Where a session's inputs and outputs lie, and on whose devices.
void BindSessionDevices(nb::class_<PySession>& session);

}  // namespace tessera::python
