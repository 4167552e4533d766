#pragma once

// Which buffer stands behind an address: in what allocators gave out, and in host memory that kernels use in place.

#include <CL/cl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "opencl/device/device.h"

namespace tessera::opencl {

/// Where a device pointer points: a buffer and a byte offset in it.
struct BufferRange {
  cl_mem buffer = nullptr;
  size_t offset = 0;
};

/// `bytes` bytes at an address, and the buffer that they are on a device.
struct Region {
  cl_mem buffer = nullptr;
  size_t bytes = 0;
  const Device* device = nullptr;
  int views = 0;         // of host memory; 0: an allocator's
  bool written = false;  // by kernels, through the only view
};

/// Adds what an allocator gives out.
void AddRegion(const void* address, const Region& region);
/// Takes it away again, nothing where there is none.
std::optional<Region> RemoveRegion(const void* address);
/// The region that `address` lies in, with where it begins.
std::optional<std::pair<const std::byte*, Region>> FindRegion(const void* address);

/// Keeps a view of host memory, and whoever owns that memory, until it is gone.
class HostView {
 public:
  /// The view of `bytes` bytes at `address`, made by `make` unless there is one of just these bytes. Null where other views
  /// or an allocator's buffers overlap them.
  static std::shared_ptr<HostView> Make(const void* address, size_t bytes, const Device& device, bool written,
                                        std::shared_ptr<void> owner, const std::function<cl_mem()>& make);
  ~HostView();
  HostView(const HostView&) = delete;
  HostView& operator=(const HostView&) = delete;

 private:
  HostView(const std::byte* address, std::shared_ptr<void> owner) : address_(address), owner_(std::move(owner)) {}

  const std::byte* address_;
  std::shared_ptr<void> owner_;
};

}  // namespace tessera::opencl
