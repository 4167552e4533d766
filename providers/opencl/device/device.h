#pragma once

#include <CL/cl.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opencl/device/errors.h"
#include "opencl/device/program_cache.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::opencl {

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
  Handle release() noexcept { return std::exchange(handle_, nullptr); }

 private:
  Handle handle_ = nullptr;
};
using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Program = Owned<cl_program, clReleaseProgram>;
using Event = Owned<cl_event, clReleaseEvent>;
using ClKernel = Owned<cl_kernel, clReleaseKernel>;

class Buffer : public Owned<cl_mem, clReleaseMemObject> {
 public:
  using Owned::Owned;
  /// One more reference of the same buffer.
  Buffer Retained() const {
    Check(clRetainMemObject(get()), "clRetainMemObject");
    return Buffer(get());
  }
};

/// By what a kernel sums four products of signed bytes in one instruction: a feature of OpenCL C 3.0, or NVIDIA's own.
enum class Int8Dots : int8_t { kNone, kOpenclC, kPtx };

/// What the device can do beyond OpenCL 1.2's core.
struct Capabilities {
  std::string platform, name, vendor, version, driver;
  bool is_gpu = false, is_cpu = false;
  bool fp64 = false;
  bool fp16 = false;
  bool matrix_units = false;  // that matrix_units.cl can use
  Int8Dots int8_dots = Int8Dots::kNone;
  bool shares_host_memory = false;
  cl_ulong memory_bytes = 0;
  cl_ulong largest_buffer_bytes = 0;
  size_t largest_group = 1;
  cl_uint compute_units = 1;
  cl_ulong local_bytes = 0;
};

/// A device with its context and its compiled programs. Shared by every session that picks the same device, and never
/// closed.
class Device {
 public:
  /// The device that the options name: by platform (part of its name), type ("gpu", "cpu", "accelerator", "any") and
  /// number. Throws Error(kEpFail) listing what is there when none fits.
  static std::shared_ptr<Device> Open(const ProviderOptions& options);

  const Capabilities& capabilities() const noexcept { return capabilities_; }
  cl_context context() const noexcept { return context_.get(); }
  cl_device_id id() const noexcept { return id_; }
  /// In order; `timed`: events of its commands tell when they ran.
  Queue CreateQueue(bool timed = false) const;

  /// A new buffer, uninitialized; `pinned`: in host memory that the device fetches from directly.
  Buffer NewBuffer(size_t bytes, bool pinned = false) const;
  /// A new buffer with a copy of `bytes` bytes at `data`, made without waiting for any queue.
  Buffer BufferOf(const void* data, size_t bytes) const;
  /// A buffer of `bytes` bytes at `data` to read from, which must live as long: the memory itself where the device shares
  /// the host's, else a copy, made without waiting for any queue.
  Buffer ViewOf(const void* data, size_t bytes) const;

  /// Kernel `name` of ops/`source`.cl, compiled after prelude.cl and `defines`, which end in KERNEL_name. Programs are
  /// kept in memory and, with a cache folder, as binaries on disk.
  ClKernel CreateKernel(std::string_view source, const std::string& defines, const char* name);

  /// Results of timing, kept like programs.
  std::optional<std::string> Remembered(const std::string& key);
  void Remember(const std::string& key, const std::string& text);

 private:
  std::string Key(std::string_view text) const;
  Device(cl_platform_id platform, cl_device_id id, const std::string& cache_folder);
  /// False once the context is dead: the device was lost, or a kernel's fault took the context with it.
  bool Works() const noexcept;
  Program Build(const std::string& source);
  Program FromBinary(std::span<const std::byte> binary, const char* options) const;

  cl_device_id id_;
  ProgramCache cache_;
  Capabilities capabilities_;
  Context context_;
  std::mutex mutex_;
  std::map<std::string, Program> programs_;
  std::map<std::string, std::string> remembered_;
};

/// Why a provider that nobody named should not take part: no device, or none but processors. Empty where there is a better
/// one.
std::string WhyNotByDefault();

/// Every device of every platform, one line each, for reports: what it can do, or why it is not used.
std::vector<std::string> DescribeDevices();

}  // namespace tessera::opencl
