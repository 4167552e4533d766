#include "runtime/resources.h"

#include <algorithm>
#include <cstring>

#include "base/cancellable_memory.h"
#include "base/check.h"
#include "base/overlap.h"
#include "base/string_memory.h"

namespace tessera {

namespace {

void CopyOnHost(const Tensor& from, Tensor& to, Allocator& allocator) {
  const size_t bytes = from.byte_size();
  if (bytes == 0) return;
  void* target = to.mutable_raw();
  const bool overlap = Overlap(from.unaligned_raw(), target, bytes);
  if (from.type() == ElementType::kString) {
    Require(!overlap, "two tensors of the same strings cannot be copied onto each other");
    CopyStrings(from.values<std::string>(), to, 0, allocator);
  } else if (overlap) {
    std::memmove(target, from.unaligned_raw(), bytes);
  } else {
    CopyBytesCancellably(target, from.unaligned_raw(), bytes);
  }
}

}  // namespace

int16_t SessionResources::FindMemory(const MemoryInfo& info) const noexcept {
  for (size_t i = 0; i < memories.size(); ++i) {
    if (memories[i].info == info) return static_cast<int16_t>(i);
  }
  return -1;
}

void SessionResources::Copy(const Tensor& from, Tensor& to, Stream* stream) const {
  if (from.unaligned_raw() == to.unaligned_raw() && from.memory() == to.memory()) return;
  if (from.memory().host_accessible && to.memory().host_accessible) return CopyOnHost(from, to, *memories[kHost].allocator);
  Require(from.type() != ElementType::kString, "strings cannot leave host memory");
  for (const ProviderEntry& entry : providers) {
    if (entry.transfer == nullptr || !entry.transfer->CanCopy(from.memory(), to.memory())) continue;
    entry.transfer->Copy(from, to, stream);
    return;
  }
  if (!from.memory().host_accessible && !to.memory().host_accessible) {
    Tensor host(from.type(), from.shape(), *memories[kHost].allocator);
    Copy(from, host);
    Copy(host, to);
    return;
  }
  Fail(ErrorCode::kEpFail, "no provider copies from {} to {} memory", from.memory().name, to.memory().name);
}

MemorySharing* SessionResources::SharingOf(int16_t memory) const noexcept {
  return memory == kHost ? nullptr : providers[static_cast<size_t>(ProviderOf(memory))].sharing;
}

int16_t SessionResources::ProviderOf(int16_t memory) const noexcept {
  for (size_t i = 0; i < providers.size(); ++i) {
    if (providers[i].memory == memory) return static_cast<int16_t>(i);
  }
  return static_cast<int16_t>(providers.size() - 1);
}

Tensor SessionResources::DeviceConstant(const Tensor& constant, int16_t memory) const {
  const std::lock_guard lock(constants_mutex_);
  Tensor& copy = device_constants_[{constant.unaligned_raw(), constant.byte_size(), constant.type(), memory}];
  if (MemorySharing* sharing = SharingOf(memory); !copy.defined() && sharing != nullptr && constant.owner() != nullptr) {
    if (auto shared = sharing->OnDevice(constant, false)) copy = std::move(*shared);
  }
  if (memory != kHost && !copy.defined()) {
    if (auto shared = providers[static_cast<size_t>(ProviderOf(memory))].provider->SharedConstant(constant))
      copy = std::move(*shared);
  }
  if (!copy.defined()) {
    Tensor device(constant.type(), constant.shape(), *memories[static_cast<size_t>(memory)].allocator);
    Copy(constant, device);
    copy = std::move(device);
  }
  return copy.shape() == constant.shape() ? copy : copy.Reshaped(constant.shape());
}

void SessionResources::ForgetDeviceConstants() const {
  const std::lock_guard lock(constants_mutex_);
  device_constants_.clear();
}

}  // namespace tessera
