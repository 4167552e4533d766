#pragma once

// Memories of a library's devices: their allocators, and copies from and to them.

#include <memory>

#include "plugin/ep.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::plugin {

/// Null where the library says that the processor's memory serves.
std::unique_ptr<Allocator> MakeAllocator(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo& memory);

/// Throws Error where the library has memory of its own and no way to copy there.
std::unique_ptr<DataTransfer> MakeTransfer(const std::shared_ptr<Ep>& ep);

/// The provider's memory for what its kernels keep. Copies share it.
class DeviceMemory {
 public:
  /// `memory` null: it is the host's.
  DeviceMemory(const std::shared_ptr<Ep>& ep, const OrtMemoryInfo* memory);

  Allocator* allocator() const noexcept { return allocator_.get(); }                    // null: the host's
  const std::shared_ptr<DataTransfer>& transfer() const noexcept { return transfer_; }  // null: the same
  /// A constant there; itself where that is the host.
  Tensor Placed(const Tensor& constant) const;

 private:
  std::shared_ptr<Allocator> allocator_;
  std::shared_ptr<DataTransfer> transfer_;
};

}  // namespace tessera::plugin
