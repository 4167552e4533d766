#pragma once

// Memory that a kernel needs on the device while it runs.

#include <optional>

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

/// What the host works out for one launch, on the device. Much of it lies in memory of the run, where its limits hold.
class SentData {
 public:
  /// Nothing: no buffer.
  SentData() = default;
  /// Copies; where that is much, waits for what was enqueued before and has cancellation points.
  SentData(KernelContext& context, const void* data, size_t bytes);
  /// One that the kernel keeps for several launches.
  explicit SentData(const Buffer& kept) : buffer_(kept.Retained()) {}
  BufferRange range() const { return memory_ ? memory_->range() : BufferRange{buffer_.get(), 0}; }

 private:
  Buffer buffer_;
  std::optional<DeviceScratch> memory_;
};

}  // namespace tessera::opencl
