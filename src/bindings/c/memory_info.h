#pragma once

// Memories as the C ABI names them.

#include <string_view>

#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/memory.h"

struct OrtMemoryInfo {
  tessera::c_abi::Mark<OrtMemoryInfo> mark;
  const char* name;  // lives as long as the process
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
