#pragma once

#include <CL/cl.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/execution_provider.h"

namespace tessera::opencl {

/// Throws Error(kEpFail) naming the call and OpenCL's error unless `status` is CL_SUCCESS.
void Check(cl_int status, const char* call);

/// Owns one reference of an OpenCL object.
template <class Handle, cl_int (*Release)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) Release(handle_);
  }
  Handle get() const noexcept { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Program = Owned<cl_program, clReleaseProgram>;
using ClKernel = Owned<cl_kernel, clReleaseKernel>;

/// What the device can do beyond OpenCL 1.2's core.
struct Capabilities {
  std::string name, vendor, version, driver;
  bool is_gpu = false;
  bool fp64 = false;
  bool fp16 = false;
  bool shares_host_memory = false;
  cl_ulong memory_bytes = 0;
  cl_ulong largest_buffer_bytes = 0;
  size_t largest_group = 1;
  cl_ulong local_bytes = 0;
};

/// A device with its context and its compiled programs. Shared by every session that picks the same device.
class Device {
 public:
  /// The device that the options name: by platform (part of its name), type ("gpu", "cpu", "accelerator", "any") and number.
  /// Throws Error(kEpFail) listing what is there when none fits.
  static std::shared_ptr<Device> Open(const ProviderOptions& options);

  const Capabilities& capabilities() const noexcept { return capabilities_; }
  cl_context context() const noexcept { return context_.get(); }
  cl_device_id id() const noexcept { return id_; }
  Queue CreateQueue(bool profiling) const;

  /// A kernel of ops/`source`.cl compiled with `defines` ("#define T float\n...") before it. Programs are kept in memory and,
  /// with a cache folder, as binaries on disk.
  ClKernel CreateKernel(std::string_view source, const std::string& defines, const char* name);

 private:
  Device(cl_platform_id platform, cl_device_id id, std::filesystem::path cache);
  Program Build(const std::string& source);
  std::filesystem::path CachePath(const std::string& source) const;
  Program LoadBinary(const std::filesystem::path& path) const;
  void StoreBinary(cl_program program, const std::filesystem::path& path) const;

  cl_device_id id_;
  std::filesystem::path cache_;
  Capabilities capabilities_;
  Context context_;
  std::mutex mutex_;
  std::map<std::string, Program> programs_;
};

/// Every device of every platform, one line each, for reports.
std::vector<std::string> DescribeDevices();

}  // namespace tessera::opencl
