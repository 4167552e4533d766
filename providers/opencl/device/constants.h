#pragma once

// Constants on a device, as they are or in a form that kernels made: one copy each, for every session that reads it there.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "opencl/device/memory.h"
#include "tessera/value.h"

namespace tessera::opencl {

/// Memory of a device that no session's limit counts by itself.
class ConstantBlock {
 public:
  ConstantBlock(std::shared_ptr<Device> device, size_t bytes)
      : allocator_(std::move(device), std::make_shared<Budget>(0)), memory_(allocator_.Allocate(bytes)) {}
  ~ConstantBlock() { allocator_.Free(memory_); }
  ConstantBlock(const ConstantBlock&) = delete;
  ConstantBlock& operator=(const ConstantBlock&) = delete;
  BufferRange range() const { return DeviceAllocator::Find(memory_); }
  void* memory() const noexcept { return memory_; }

 private:
  DeviceAllocator allocator_;
  void* memory_;
};

/// Those of a session. What they take counts towards the limit of each session that reads them, whoever made them.
class DeviceConstants {
 public:
  /// Writes a block, and is done with it on return.
  using Fill = std::function<void(const BufferRange& target)>;

  DeviceConstants(std::shared_ptr<Device> device, std::shared_ptr<const Queue> queue, std::shared_ptr<Budget> budget)
      : device_(std::move(device)), queue_(std::move(queue)), budget_(std::move(budget)) {}

  /// False: each session has copies of its own.
  void set_shared(bool shared) noexcept { shared_ = shared; }
  /// Where the device shares the host's memory: what counts its bytes for the session, which outlives all blocks.
  void set_host_memory(Allocator* memory) noexcept { host_ = memory; }

  /// `bytes` bytes that `fill` makes of a constant, unless they are there already; `form` tells them from its other forms.
  std::shared_ptr<const ConstantBlock> Form(const Tensor& constant, std::string_view form, size_t bytes, const Fill& fill);
  /// The constant itself: where it lies if the device can read it there, else a copy.
  Tensor OnDevice(const Tensor& constant);

 private:
  using Key = std::tuple<const void*, ElementType, std::vector<int64_t>, std::string>;
  /// A place may be used again once its owner is gone.
  struct Held {
    std::weak_ptr<const ConstantBlock> block;
    std::weak_ptr<const void> owner;
  };
  std::shared_ptr<const ConstantBlock> Make(const Tensor& constant, std::string_view form, size_t bytes,
                                            const Fill& fill) const;

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<const Queue> queue_;
  const std::shared_ptr<Budget> budget_;
  bool shared_ = true;
  Allocator* host_ = nullptr;
  std::mutex mutex_;
  std::map<Key, Held> held_;
};

/// A constant in host memory for a kernel that puts it into a form of its own: where it lies, at any address, if the device
/// is a processor; else perhaps a copy. The constant must live as long.
class HostWeights {
 public:
  HostWeights(const Device& device, const Tensor& constant);
  BufferRange range() const noexcept { return {buffer_.get(), offset_}; }
  /// Stands after Computed('X', type): how the kernel reads elements of constants of this type, wherever they are.
  static std::string_view Defines(const Device& device, ElementType type) noexcept;

 private:
  static bool AnyAddress(const Device& device, ElementType type) noexcept;

  Buffer buffer_;
  size_t offset_ = 0;
};

}  // namespace tessera::opencl
