#pragma once

#include <optional>

#include "tessera/provider/kernel.h"

namespace tessera {

/// What a DataTransfer may also be where a device and the host share memory: tensors are used where they are, without a
/// copy.
class TESSERA_API MemorySharing {
 public:
  virtual ~MemorySharing() = default;

  /// A tensor in host memory as kernels of the device see it, or nothing where they need a copy. The view must be gone
  /// before the host's buffer is. `written`: kernels may write to it; then no other view of the same memory is given while
  /// this one lives.
  virtual std::optional<Tensor> OnDevice(const Tensor& host, bool written) = 0;

  /// A tensor of the device's allocator as the host sees it once the stream is synchronized, or nothing where it needs a
  /// copy. It owns the buffer together with `device`.
  virtual std::optional<Tensor> OnHost(const Tensor& device, Stream& stream) = 0;

  /// Kernels have written to a view that OnDevice made: on return the host sees it.
  virtual void Written(const Tensor& view) = 0;
};

}  // namespace tessera
