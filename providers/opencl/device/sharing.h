#pragma once

#include <memory>
#include <optional>

#include "opencl/device/memory.h"
#include "tessera/provider/memory_sharing.h"

namespace tessera::opencl {

/// For devices that share the host's memory: what lies where the device can use it is not copied.
class SharedTransfer final : public DeviceTransfer, public MemorySharing {
 public:
  SharedTransfer(std::shared_ptr<const Device> device, std::shared_ptr<const Queue> queue)
      : DeviceTransfer(device, queue, false) {}

  std::optional<Tensor> OnDevice(const Tensor& host, bool written) override;
  std::optional<Tensor> OnHost(const Tensor& device, Stream& stream) override;
  void Written(const Tensor& view) override;

 private:
  std::optional<Tensor> InAllocation(const Tensor& host, const std::byte* begin, const Region& region) const;
};

}  // namespace tessera::opencl
