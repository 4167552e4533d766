#pragma once

// Memories as the C ABI names them.

#include <cstdint>
#include <string>
#include <string_view>

#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/memory.h"

namespace tessera::c_abi {

/// What ONNX Runtime's own objects begin with [by looking at one that 1.31.1 made]. Libraries that are built from its C++
/// sources copy memory infos as objects of its class, the name's std::string included: WebGPU's provider does.
struct OnnxRuntimesMemoryInfo {
  const char* name;  // libstdc++'s string: where the text is,
  size_t name_size;  // how long,
  size_t room[2];    // and room for short ones
  OrtMemType mem_type;
  OrtAllocatorType allocator;
  int8_t device, kind;
  int16_t id;
  uint32_t vendor;
  size_t alignment;

  bool operator==(const OnnxRuntimesMemoryInfo&) const = default;
};
static_assert(sizeof(OnnxRuntimesMemoryInfo) == 56);

}  // namespace tessera::c_abi

struct OrtMemoryInfo {
  /// `its_name` lives as long as the process.
  constexpr OrtMemoryInfo(const char* its_name, OrtAllocatorType its_allocator, OrtMemType its_type,
                          OrtMemoryInfoDeviceType its_device, OrtDeviceMemoryType its_kind, uint32_t its_vendor,
                          int32_t its_id, size_t its_alignment)
      : shown{its_name,
              std::char_traits<char>::length(its_name),
              {},
              its_type,
              its_allocator,
              static_cast<int8_t>(its_device),
              static_cast<int8_t>(its_kind),
              static_cast<int16_t>(its_id),
              its_vendor,
              its_alignment},
        name(its_name),
        allocator(its_allocator),
        mem_type(its_type),
        device(its_device),
        kind(its_kind),
        vendor(its_vendor),
        id(its_id),
        alignment(its_alignment) {}

  tessera::c_abi::OnnxRuntimesMemoryInfo shown;
  tessera::c_abi::Mark<OrtMemoryInfo> mark;
  const char* name;
  OrtAllocatorType allocator;
  OrtMemType mem_type;
  OrtMemoryInfoDeviceType device;
  OrtDeviceMemoryType kind;
  uint32_t vendor;
  int32_t id;
  size_t alignment;

  bool operator==(const OrtMemoryInfo&) const = default;
};

namespace tessera::c_abi {

/// Where the memory is, whatever its buffers are called and who allocates them: a memory info of which only that counts.
const OrtMemoryDevice* DeviceOf(const OrtMemoryInfo& info) noexcept;
/// The same memory in an object that lives as long as the process, by which InfoOf knows it from now on.
const OrtMemoryInfo* Kept(const OrtMemoryInfo& info);
/// The name in memory that lives as long as the process.
const char* Interned(std::string_view name);
/// The memory that a client means.
MemoryInfo MemoryOf(const OrtMemoryInfo& info) noexcept;
/// A memory for clients to look at; the object lives as long as the process.
const OrtMemoryInfo* InfoOf(const MemoryInfo& memory);
/// That of the processor's memory.
const OrtMemoryInfo* CpuInfo() noexcept;

}  // namespace tessera::c_abi
