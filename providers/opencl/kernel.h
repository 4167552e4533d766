#pragma once

// What every OpenCL operator is built on: a compiled kernel and a launch with typed arguments.

#include <array>
#include <mutex>
#include <string>

#include "base/check.h"
#include "device.h"
#include "memory.h"
#include "tessera/kernel.h"

namespace tessera::opencl {

/// The device of the provider that a kernel is made for.
Device& DeviceOf(const KernelInfo& info);

/// OpenCL C's name of an element type that kernels compute in: "float", "long"; bool is stored as uchar.
const char* TypeName(ElementType type);

inline constexpr TypeSet kFloat32 = {ElementType::kFloat};
inline constexpr TypeSet kDeviceNumbers = {ElementType::kFloat, ElementType::kInt32, ElementType::kInt64, ElementType::kUInt8,
                                           ElementType::kInt8,  ElementType::kUInt32, ElementType::kUInt64, ElementType::kInt16,
                                           ElementType::kUInt16};
/// Types that are only moved: by their width.
inline constexpr TypeSet kMovable = kDeviceNumbers | TypeSet{ElementType::kBool, ElementType::kDouble, ElementType::kFloat16,
                                                             ElementType::kBFloat16};

inline constexpr size_t kMostDims = 8;

/// Up to kMostDims sizes and strides, passed by value; the same struct stands in ops/strided.cl and ops/elementwise.cl.
struct Strided {
  cl_int rank = 0;
  cl_int padding = 0;
  std::array<cl_long, kMostDims> dims{};
  std::array<cl_long, kMostDims> a{};
  std::array<cl_long, kMostDims> b{};
  std::array<cl_long, kMostDims> c{};
};

/// Row-major strides; 0 where a dimension of `shape`, aligned to the right of `rank` dimensions, is broadcast.
std::array<cl_long, kMostDims> BroadcastStrides(const Shape& shape, const Shape& result);

/// A cl_kernel that several threads may launch: arguments are set and the launch is enqueued under one lock, because OpenCL
/// keeps arguments in the kernel object.
class Launchable {
 public:
  Launchable(Device& device, std::string_view source, const std::string& defines, const char* name)
      : kernel_(device.CreateKernel(source, defines, name)) {}

  /// Enqueues over `global` work items (rounded up to `local` where that is given). Tensors pass as a buffer and a byte
  /// offset, null as no buffer; numbers and structs by value.
  template <class... Args>
  void operator()(KernelContext& context, std::array<size_t, 3> global, std::array<size_t, 3> local, const Args&... args) {
    if (global[0] * global[1] * global[2] == 0) return;
    const std::lock_guard lock(mutex_);
    cl_uint index = 0;
    (Set(index, args), ...);
    Enqueue(context, global, local);
  }
  template <class... Args>
  void Linear(KernelContext& context, int64_t items, const Args&... args) {
    (*this)(context, {static_cast<size_t>(items), 1, 1}, {0, 0, 0}, args...);
  }

 private:
  void Set(cl_uint& index, const Tensor& tensor);
  void Set(cl_uint& index, const Tensor* tensor);
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void Set(cl_uint& index, const T& value) {
    Check(clSetKernelArg(kernel_.get(), index++, sizeof value, &value), "clSetKernelArg");
  }
  void Enqueue(KernelContext& context, std::array<size_t, 3> global, std::array<size_t, 3> local);

  ClKernel kernel_;
  std::mutex mutex_;
};

/// The lists of ops/: each file registers its operators.
void RegisterConvolution(KernelRegistry& registry);
void RegisterElementwise(KernelRegistry& registry);
void RegisterGather(KernelRegistry& registry);
void RegisterMatMul(KernelRegistry& registry);
void RegisterNormalization(KernelRegistry& registry);
void RegisterPooling(KernelRegistry& registry);
void RegisterReduce(KernelRegistry& registry);
void RegisterShape(KernelRegistry& registry);
void RegisterStrided(KernelRegistry& registry);

}  // namespace tessera::opencl
