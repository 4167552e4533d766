#pragma once

// Memory that a kernel needs on the device while it runs.

#include "opencl/device/kernel.h"

namespace tessera::opencl {

/// Memory of the device for one launch: an in-order queue lets it go back before the launch is done.
class DeviceScratch {
 public:
  DeviceScratch(KernelContext& context, size_t bytes)
      : allocator_(context.allocator()), memory_(allocator_.Allocate(bytes)) {}
  ~DeviceScratch() { allocator_.Free(memory_); }
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;
  BufferRange range() const { return DeviceAllocator::Find(memory_); }

 private:
  Allocator& allocator_;
  void* memory_;
};

}  // namespace tessera::opencl
