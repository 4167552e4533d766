// Devices: as programs name them, and those that providers offer.

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>

#include "bindings/c/devices.h"
#include "bindings/python/device.h"
#include "bindings/python/enums.h"
#include "bindings/python/runtime.h"
#include "bindings/python/sessions.h"
#include "bindings/python/strings.h"
#include "tessera/error.h"

namespace tessera::python {
namespace {

constexpr int kCpu = 0, kGpu = 1, kFpga = 2, kNpu = 3;
constexpr int kNvidia = 0x10de, kMicrosoft = 0x1414, kHuawei = 0x19e5;

struct NamedDevice {
  std::string_view name;
  int type, vendor;
};
constexpr std::array<NamedDevice, 7> kNamed = {{{"cpu", kCpu, 0},
                                                {"cuda", kGpu, kNvidia},
                                                {"gpu", kGpu, 0},
                                                {"dml", kGpu, kMicrosoft},
                                                {"webgpu", kGpu, 0},
                                                {"cann", kNpu, kHuawei},
                                                {"npu", kNpu, 0}}};

using Texts = std::map<std::string, std::string>;

Texts TextsIn(const OrtKeyValuePairs* pairs) {
  Texts texts;
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  Api().GetKeyValuePairs(pairs, &keys, &values, &count);
  for (size_t i = 0; i < count; ++i) texts.emplace(keys[i], values[i]);
  return texts;
}

nb::list EpDevices() {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  Check(Api().GetEpDevices(&Env(), &devices, &count));
  nb::list list;
  for (size_t i = 0; i < count; ++i) list.append(nb::cast(EpDevice{devices[i]}));
  return list;
}

nb::list HardwareDevices() {
  size_t count = 0;
  Check(Api().GetNumHardwareDevices(&Env(), &count));
  std::vector<const OrtHardwareDevice*> devices(count);
  Check(Api().GetHardwareDevices(&Env(), devices.data(), count));
  nb::list list;
  for (const OrtHardwareDevice* device : devices) list.append(nb::cast(HardwareDevice{device}));
  return list;
}

/// What Python calls `count` times for a model's inputs or outputs.
template <class T>
using Lister = OrtStatusPtr (*)(const OrtSession*, const T**, size_t);

template <class T>
std::vector<const T*> Asked(Lister<T> lister, const PySession& session, size_t count) {
  std::vector<const T*> all(count);
  if (count > 0) Check(lister(session.loaded()->session, all.data(), count));
  return all;
}

nb::list MemoriesIn(const std::vector<const OrtMemoryInfo*>& all) {
  nb::list list;
  for (const OrtMemoryInfo* info : all) list.append(nb::cast(NamedMemory{*info}));
  return list;
}

/// None for memory of a provider that lists no devices.
nb::list DevicesIn(const std::vector<const OrtEpDevice*>& all) {
  nb::list list;
  for (const OrtEpDevice* device : all) list.append(device == nullptr ? nb::none() : nb::cast(EpDevice{device}));
  return list;
}

/// An EpSelectionDelegate whose state is the Python function.
OrtStatus* Choose(const OrtEpDevice** devices, size_t device_count, const OrtKeyValuePairs* model,
                  const OrtKeyValuePairs* runtime, const OrtEpDevice** selected, size_t most, size_t* count,
                  void* function) noexcept {
  const Inside lock;
  try {
    const nb::object chosen = static_cast<const Held*>(function)->get()(DevicesIn({devices, devices + device_count}),
                                                                        TextsIn(model), TextsIn(runtime), most);
    *count = nb::len(chosen);
    if (*count > most) return nullptr;  // the library says so
    for (size_t i = 0; i < *count; ++i) selected[i] = nb::cast<EpDevice>(chosen[i]).described;
    return nullptr;
  } catch (const std::exception& error) {
    return Api().CreateStatus(ORT_FAIL, ("the delegate that chooses devices failed: " + std::string(error.what())).c_str());
  }
}

NamedMemory Taken(OrtMemoryInfo* made) {
  const NamedMemory owned{*made};
  Api().ReleaseMemoryInfo(made);
  return owned;
}

NamedMemory MakeMemoryInfo(const std::string& name, OrtAllocatorType type, int id, OrtMemType kind) {
  OrtMemoryInfo* made = nullptr;
  Check(Api().CreateMemoryInfo(CharactersOf(name), type, id, kind, &made));
  return Taken(made);
}

NamedMemory MakeMemoryInfoOf(const std::string& name, OrtMemoryInfoDeviceType device, uint32_t vendor, int32_t id,
                             OrtDeviceMemoryType kind, size_t alignment, OrtAllocatorType type) {
  OrtMemoryInfo* made = nullptr;
  Check(Api().CreateMemoryInfo_V2(CharactersOf(name), device, vendor, id, kind, alignment, type, &made));
  return Taken(made);
}

DeviceStream MakeStream(const EpDevice& device) {
  OrtSyncStream* made = nullptr;
  CheckCall(Api().CreateSyncStreamForEpDevice(device.described, nullptr, &made));
  return {std::shared_ptr<OrtSyncStream>(made, Api().ReleaseSyncStream)};
}

void BindDevice(nb::module_& module) {
  auto device = nb::class_<Device>(module, "OrtDevice", "Kind, memory, vendor and number of a device.");
  device.def("__init__", [](Device* self, int type, int memory, int id) { new (self) Device{type, memory, 0, id}; });
  device.def("__init__",
             [](Device* self, int type, int memory, int vendor, int id) { new (self) Device{type, memory, vendor, id}; });
  device.def("__init__", [](Device* self, const Device& other) { new (self) Device(other); }, nb::arg("c_ort_device"));
  device.def_static("make", &DeviceNamed, nb::arg("ort_device_name"), nb::arg("device_id"), nb::arg("vendor_id") = -1,
                    "The device of that name: \"cpu\", \"cuda\", \"gpu\", ...");
  device.def("device_id", [](const Device& self) { return self.id; });
  device.def("device_type", [](const Device& self) { return self.type; });
  device.def("vendor_id", [](const Device& self) { return self.vendor; });
  device.def("device_vendor_id", [](const Device& self) { return self.vendor; });
  device.def("mem_type", [](const Device& self) { return self.memory_type; });
  device.def("device_mem_type", [](const Device& self) { return self.memory_type; });
  device.def("_get_c_device", [](nb::object self) { return self; });
  device.def_prop_ro("_ort_device", [](nb::object self) { return self; });
  for (const auto& [name, type] : {std::pair{"cpu", kCpu},
                                   {"cuda", kGpu},
                                   {"gpu", kGpu},
                                   {"dml", kGpu},
                                   {"webgpu", kGpu},
                                   {"fpga", kFpga},
                                   {"cann", kNpu},
                                   {"npu", kNpu},
                                   {"default_memory", 0}})
    device.def_static(name, [type = type] { return type; });
}

void BindMemoryInfo(nb::module_& module) {
  auto info = nb::class_<NamedMemory>(module, "OrtMemoryInfo", "Names a memory.");
  info.def("__init__", [](NamedMemory* self, const std::string& name, OrtAllocatorType type, int id, OrtMemType kind) {
    new (self) NamedMemory(MakeMemoryInfo(name, type, id, kind));
  });
  info.def_static("create_v2", &MakeMemoryInfoOf, nb::arg("name"), nb::arg("device_type"), nb::arg("vendor_id"),
                  nb::arg("device_id"), nb::arg("mem_type"), nb::arg("alignment"), nb::arg("allocator_type"),
                  "Names a memory by its device's kind, vendor and number.");
  info.def_prop_ro("name", [](const NamedMemory& self) { return self.info.name; });
  info.def_prop_ro("device_id", [](const NamedMemory& self) { return self.info.id; });
  info.def_prop_ro("mem_type", [](const NamedMemory& self) { return self.info.mem_type; });
  info.def_prop_ro("allocator_type", [](const NamedMemory& self) { return self.info.allocator; });
  info.def_prop_ro("device_mem_type", [](const NamedMemory& self) { return self.info.kind; });
  info.def_prop_ro("device_vendor_id", [](const NamedMemory& self) { return self.info.vendor; });
}

void BindOffered(nb::module_& module) {
  auto hardware = nb::class_<HardwareDevice>(module, "OrtHardwareDevice", "A device of the machine.");
  hardware.def_prop_ro("type", [](const HardwareDevice& self) { return Api().HardwareDevice_Type(self.described); });
  hardware.def_prop_ro("vendor_id",
                       [](const HardwareDevice& self) { return Api().HardwareDevice_VendorId(self.described); });
  hardware.def_prop_ro("vendor", [](const HardwareDevice& self) { return Api().HardwareDevice_Vendor(self.described); });
  hardware.def_prop_ro("device_id",
                       [](const HardwareDevice& self) { return Api().HardwareDevice_DeviceId(self.described); });
  hardware.def_prop_ro("metadata",
                       [](const HardwareDevice& self) { return TextsIn(Api().HardwareDevice_Metadata(self.described)); });

  nb::class_<DeviceStream> stream(module, "OrtSyncStream", "Work of a device, in its order.");
  stream.def(
      "get_handle",
      [](const DeviceStream& self) { return reinterpret_cast<uintptr_t>(Api().SyncStream_GetHandle(self.stream.get())); },
      "The address of the device's own object.");

  auto offered = nb::class_<EpDevice>(module, "OrtEpDevice", "A provider on a device that it can use.");
  offered.def_prop_ro("ep_name", [](const EpDevice& self) { return Api().EpDevice_EpName(self.described); });
  offered.def_prop_ro("ep_vendor", [](const EpDevice& self) { return Api().EpDevice_EpVendor(self.described); });
  offered.def_prop_ro("ep_metadata",
                      [](const EpDevice& self) { return TextsIn(Api().EpDevice_EpMetadata(self.described)); });
  offered.def_prop_ro("ep_options", [](const EpDevice& self) { return TextsIn(Api().EpDevice_EpOptions(self.described)); });
  offered.def_prop_ro("device", [](const EpDevice& self) { return HardwareDevice{Api().EpDevice_Device(self.described)}; });
  offered.def("memory_info", [](const EpDevice& self, OrtDeviceMemoryType kind) -> nb::object {
    const OrtMemoryInfo* info = Api().EpDevice_MemoryInfo(self.described, kind);
    return info == nullptr ? nb::none() : nb::cast(NamedMemory{*info});
  });
  offered.def("create_sync_stream", &MakeStream, "A stream of the device; RuntimeError where the provider has none.");
  offered.def_prop_ro("_address", [](const EpDevice& self) { return reinterpret_cast<uintptr_t>(self.described); });
}

}  // namespace

Device DeviceNamed(std::string_view name, int id, int vendor) {
  for (const NamedDevice& known : kNamed)
    if (known.name == name) return {known.type, 0, vendor >= 0 ? vendor : known.vendor, id};
  PyErr_SetString(PyExc_Exception, ("Unsupported device type: " + std::string(name)).c_str());
  nb::raise_python_error();
}

std::string_view NameOf(const MemoryInfo& memory) noexcept {
  if (memory.device == DeviceType::kGpu && !memory.host_accessible) return "gpu";
  return "cpu";
}

MemoryInfo MemoryOf(const Device& device) {
  if (device.type == kCpu) return {};
  if (device.type == kGpu && device.vendor != kNvidia && device.vendor != kMicrosoft)
    return {.name = "OpenCL", .device = DeviceType::kGpu, .device_id = device.id, .host_accessible = false};
  throw Error(ErrorCode::kInvalidArgument,
              "this build has no memory of such a device; use \"cpu\", or \"gpu\" with OpenCL");
}

void SetSelectionDelegate(PySessionOptions& options, nb::object delegate) {
  if (!delegate.is_none() && PyCallable_Check(delegate.ptr()) == 0) throw nb::type_error("expected a function, or None");
  HeldFunction held = delegate.is_none() ? nullptr : std::make_shared<const Held>(std::move(delegate));
  options.selection_delegate.swap(held);  // what was there ends last: it may end in any code of Python's
  void* state = const_cast<Held*>(options.selection_delegate.get());  // which Choose only reads
  Check(
      Api().SessionOptionsSetEpSelectionPolicyDelegate(options.options.get(), state == nullptr ? nullptr : &Choose, state));
}

nb::object SelectionDelegate(const PySessionOptions& options) {
  return options.selection_delegate == nullptr ? nb::none() : nb::borrow(options.selection_delegate->get());
}

void BindSessionDevices(nb::class_<PySession>& session) {
  session.def_prop_ro("input_meminfos", [](const PySession& self) {
    return MemoriesIn(
        Asked<OrtMemoryInfo>(Api().SessionGetMemoryInfoForInputs, self, self.loaded()->core().inputs().size()));
  });
  session.def_prop_ro("output_meminfos", [](const PySession& self) {
    return MemoriesIn(
        Asked<OrtMemoryInfo>(Api().SessionGetMemoryInfoForOutputs, self, self.loaded()->core().outputs().size()));
  });
  session.def_prop_ro("input_epdevices", [](const PySession& self) {
    return DevicesIn(Asked<OrtEpDevice>(Api().SessionGetEpDeviceForInputs, self, self.loaded()->core().inputs().size()));
  });
}

void BindDevices(nb::module_& module) {
  BindEnums(module);
  BindDevice(module);
  BindMemoryInfo(module);
  BindOffered(module);
  module.def("get_ep_devices", &EpDevices, "Providers with the devices that they can use.");
  module.def("get_hardware_devices", &HardwareDevices, "Devices of the machine.");
}

}  // namespace tessera::python
