// Memories by name and device.

#include "bindings/c/memory_info.h"

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/fork.h"
#include "bindings/c/entry.h"
#include "bindings/c/value.h"

namespace tessera::c_abi {
namespace {

constexpr OrtMemoryInfo kCpuInfo{
    "Cpu", OrtDeviceAllocator, OrtMemTypeDefault, OrtMemoryInfoDeviceType_CPU, OrtDeviceMemoryType_DEFAULT, 0, 0, 0};

constexpr uint32_t kNvidia = 0x10DE, kAmd = 0x1002, kIntel = 0x8086, kMicrosoft = 0x1414, kQualcomm = 0x5143;

/// A memory that CreateMemoryInfo makes of its name alone.
struct KnownMemory {
  std::string_view name;
  OrtMemoryInfoDeviceType device;
  OrtDeviceMemoryType kind;
  uint32_t vendor;
};

constexpr KnownMemory kKnownMemories[] = {
    {"Cpu", OrtMemoryInfoDeviceType_CPU, OrtDeviceMemoryType_DEFAULT, 0},
    {"Cuda", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, kNvidia},
    {"CudaPinned", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_HOST_ACCESSIBLE, kNvidia},
    {"Hip", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, kAmd},
    {"HipPinned", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_HOST_ACCESSIBLE, kAmd},
    {"DML", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, kMicrosoft},
    {"OpenVINO_GPU", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, kIntel},
    {"WebGPU_Buffer", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0},
    {"WebGPU_Buf", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0},  // as the bindings of 1.30 call it
    {"WebNN_Tensor", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0},
    {"WebNN_Ten", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0},
    {"QnnHtpShared", OrtMemoryInfoDeviceType_CPU, OrtDeviceMemoryType_HOST_ACCESSIBLE, kQualcomm},
    {"OpenCL", OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, 0},
};

struct InternedNames {
  ForkMutex mutex;
  std::set<std::string, std::less<>> names;
  std::deque<std::pair<MemoryInfo, OrtMemoryInfo>> infos;
};

/// Never freed: handles refer to it until the process ends.
InternedNames& TheNames() {
  static InternedNames& names = *new InternedNames;
  return names;
}

const OrtMemoryInfo& InfoOf(const OrtMemoryDevice& device) noexcept {
  return reinterpret_cast<const OrtMemoryInfo&>(device);
}

OrtMemoryInfoDeviceType TypeOf(DeviceType device) noexcept {
  switch (device) {
    case DeviceType::kCpu: return OrtMemoryInfoDeviceType_CPU;
    case DeviceType::kGpu: return OrtMemoryInfoDeviceType_GPU;
    case DeviceType::kNpu: return OrtMemoryInfoDeviceType_NPU;
  }
  return OrtMemoryInfoDeviceType_CPU;
}

}  // namespace

const char* Interned(std::string_view name) {
  InternedNames& all = TheNames();
  const std::lock_guard lock(all.mutex);
  const auto known = all.names.find(name);
  return (known != all.names.end() ? known : all.names.emplace(name).first)->c_str();
}

MemoryInfo MemoryOf(const OrtMemoryInfo& info) noexcept {
  // All that the processor reaches is one memory, whatever its buffers were allocated for.
  if (info.device == OrtMemoryInfoDeviceType_CPU || info.mem_type != OrtMemTypeDefault) return {};
  return {.name = info.name,
          .device = info.device == OrtMemoryInfoDeviceType_NPU ? DeviceType::kNpu : DeviceType::kGpu,
          .device_id = info.id,
          .host_accessible = info.kind == OrtDeviceMemoryType_HOST_ACCESSIBLE};
}

const OrtMemoryInfo* CpuInfo() noexcept { return &kCpuInfo; }

const OrtMemoryInfo* InfoOf(const MemoryInfo& memory) {
  if (memory.device == DeviceType::kCpu) return &kCpuInfo;
  const char* name = Interned(memory.name);
  InternedNames& all = TheNames();
  const std::lock_guard lock(all.mutex);
  for (const auto& [known, info] : all.infos) {
    if (known == memory) return &info;
  }
  const OrtDeviceMemoryType kind =
      memory.host_accessible ? OrtDeviceMemoryType_HOST_ACCESSIBLE : OrtDeviceMemoryType_DEFAULT;
  all.infos.push_back(
      {memory, {name, OrtDeviceAllocator, OrtMemTypeDefault, TypeOf(memory.device), kind, 0, memory.device_id, 0}});
  return &all.infos.back().second;
}

const OrtMemoryDevice* DeviceOf(const OrtMemoryInfo& info) noexcept {
  return reinterpret_cast<const OrtMemoryDevice*>(&info);
}

const OrtMemoryInfo* Kept(const OrtMemoryInfo& info) {
  OrtMemoryInfo kept = info;
  kept.name = Interned(info.name);
  InternedNames& all = TheNames();
  const std::lock_guard lock(all.mutex);
  for (const auto& [memory, known] : all.infos) {
    if (known == kept) return &known;
  }
  all.infos.push_back({MemoryOf(kept), kept});
  return &all.infos.back().second;
}

const OrtMemoryDevice* MemoryInfo_GetMemoryDevice(const OrtMemoryInfo* memory_info) noexcept {
  return memory_info == nullptr ? nullptr : DeviceOf(*memory_info);
}

// Null where it is no tensor.
const OrtMemoryDevice* Value_GetMemoryDevice(const OrtValue* value) noexcept {
  const Tensor* tensor = value == nullptr ? nullptr : value->tensor_if();
  try {
    return tensor == nullptr ? nullptr : DeviceOf(*InfoOf(tensor->memory()));
  } catch (...) {  // no memory for what the process keeps of it
    return nullptr;
  }
}

bool MemoryDevice_AreEqual(const OrtMemoryDevice* a, const OrtMemoryDevice* b) noexcept {
  if (a == nullptr || b == nullptr) return a == b;
  const OrtMemoryInfo &one = InfoOf(*a), &other = InfoOf(*b);
  return one.device == other.device && one.kind == other.kind && one.vendor == other.vendor && one.id == other.id;
}

OrtMemoryInfoDeviceType MemoryDevice_GetDeviceType(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device == nullptr ? OrtMemoryInfoDeviceType_CPU : InfoOf(*memory_device).device;
}

OrtDeviceMemoryType MemoryDevice_GetMemoryType(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device == nullptr ? OrtDeviceMemoryType_DEFAULT : InfoOf(*memory_device).kind;
}

uint32_t MemoryDevice_GetVendorId(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device == nullptr ? 0 : InfoOf(*memory_device).vendor;
}

uint32_t MemoryDevice_GetDeviceId(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device == nullptr ? 0 : static_cast<uint32_t>(InfoOf(*memory_device).id);
}

OrtStatusPtr CreateMemoryInfo(const char* name, OrtAllocatorType type, int id, OrtMemType mem_type,
                              OrtMemoryInfo** out) noexcept {
  return Guarded([&] {
    const std::string_view given = &Given(name, "the memory's name");
    for (const KnownMemory& known : kKnownMemories) {
      if (known.name != given) continue;
      Give(out, [&] {
        return new OrtMemoryInfo{known.name.data(), type, mem_type, known.device, known.kind, known.vendor, id, 0};
      });
      return;
    }
    Fail(ErrorCode::kInvalidArgument, "there is no memory '{}' known by its name alone; CreateMemoryInfo_V2 takes any",
         given);
  });
}

OrtStatusPtr CreateMemoryInfo_V2(const char* name, OrtMemoryInfoDeviceType device_type, uint32_t vendor_id,
                                 int32_t device_id, OrtDeviceMemoryType mem_type, size_t alignment,
                                 OrtAllocatorType allocator_type, OrtMemoryInfo** out) noexcept {
  return Guarded([&] {
    const char* own_name = Interned(&Given(name, "the memory's name"));
    // What the older entries know of memory that the host reaches, too.
    const OrtMemType kind = mem_type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? OrtMemTypeCPUOutput : OrtMemTypeDefault;
    Give(out, [&] {
      return new OrtMemoryInfo{own_name, allocator_type, kind, device_type, mem_type, vendor_id, device_id, alignment};
    });
  });
}

OrtStatusPtr CreateCpuMemoryInfo(OrtAllocatorType type, OrtMemType mem_type, OrtMemoryInfo** out) noexcept {
  return CreateMemoryInfo("Cpu", type, 0, mem_type, out);
}

OrtStatusPtr CompareMemoryInfo(const OrtMemoryInfo* info1, const OrtMemoryInfo* info2, int* out) noexcept {
  return Guarded([&] {
    const OrtMemoryInfo& first = Given(info1, "the first memory info");
    const OrtMemoryInfo& second = Given(info2, "the second memory info");
    OrtMemoryInfo named_alike = second;
    if (std::string_view(first.name) == second.name) named_alike.name = first.name;
    Given(out, "out") = first == named_alike ? 0 : -1;
  });
}

OrtStatusPtr MemoryInfoGetName(const OrtMemoryInfo* ptr, const char** out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(ptr, "the memory info").name; });
}

OrtStatusPtr MemoryInfoGetId(const OrtMemoryInfo* ptr, int* out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(ptr, "the memory info").id; });
}

OrtStatusPtr MemoryInfoGetMemType(const OrtMemoryInfo* ptr, OrtMemType* out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(ptr, "the memory info").mem_type; });
}

OrtStatusPtr MemoryInfoGetType(const OrtMemoryInfo* ptr, OrtAllocatorType* out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(ptr, "the memory info").allocator; });
}

void MemoryInfoGetDeviceType(const OrtMemoryInfo* ptr, OrtMemoryInfoDeviceType* out) {
  if (out != nullptr) *out = IsThere(ptr) ? ptr->device : OrtMemoryInfoDeviceType_CPU;
}

OrtDeviceMemoryType MemoryInfoGetDeviceMemType(const OrtMemoryInfo* ptr) noexcept {
  return IsThere(ptr) ? ptr->kind : OrtDeviceMemoryType_DEFAULT;
}

uint32_t MemoryInfoGetVendorId(const OrtMemoryInfo* ptr) noexcept { return IsThere(ptr) ? ptr->vendor : 0; }

void ReleaseMemoryInfo(OrtMemoryInfo* input) { Release(input); }

}  // namespace tessera::c_abi
