#include "opencl/device/sharing.h"

#include <cstring>

#include "base/check.h"

namespace tessera::opencl {
namespace {

/// Only a buffer that is mapped may be read and written by the host. Results that go out and come back stay unmapped: on
/// processors, whose buffers are the host's memory as it is, and nowhere else.
bool HostSeesBuffers(const Device& device) { return device.capabilities().is_cpu; }

/// Puts host and device in step. Returns where the host finds the range.
void* MapAndUnmap(cl_command_queue queue, const BufferRange& range, size_t bytes, cl_map_flags flags) {
  cl_int status = CL_SUCCESS;
  void* mapped =
      clEnqueueMapBuffer(queue, range.buffer, CL_FALSE, flags, range.offset, bytes, 0, nullptr, nullptr, &status);
  Check(status, "clEnqueueMapBuffer");
  Check(clEnqueueUnmapMemObject(queue, range.buffer, mapped, 0, nullptr, nullptr), "clEnqueueUnmapMemObject");
  return mapped;
}

}  // namespace

std::optional<Tensor> SharedTransfer::InAllocation(const Tensor& host, const std::byte* begin, const Region& region) const {
  const auto* data = static_cast<const std::byte*>(host.unaligned_raw());
  const auto offset = static_cast<size_t>(data - begin);
  if (!HostSeesBuffers(device()) || region.device != &device() || region.bytes - offset < host.byte_size() ||
      host.owner() == nullptr)
    return std::nullopt;
  // The host may have written there since.
  if (MapAndUnmap(queue(), {region.buffer, offset}, host.byte_size(), CL_MAP_WRITE) != data) return std::nullopt;
  return Tensor::Share(host.type(), host.shape(), const_cast<std::byte*>(data), host.owner(), kDeviceMemory);
}

std::optional<Tensor> SharedTransfer::OnDevice(const Tensor& host, bool written) {
  const void* data = host.unaligned_raw();
  const size_t bytes = host.byte_size();
  if (bytes == 0 || host.type() == ElementType::kString || reinterpret_cast<uintptr_t>(data) % kHostAlignment != 0 ||
      bytes > device().capabilities().largest_buffer_bytes) {
    return std::nullopt;
  }
  // A result that comes back as an input.
  if (const auto found = FindRegion(data); found && found->second.views == 0) {
    return written ? std::nullopt : InAllocation(host, found->first, found->second);
  }
  auto view = HostView::Make(data, bytes, device(), written, host.owner(), [&] {
    cl_int status = CL_SUCCESS;
    return clCreateBuffer(device().context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, const_cast<void*>(data),
                          &status);
  });
  if (view == nullptr) return std::nullopt;
  return Tensor::Share(host.type(), host.shape(), const_cast<void*>(data), std::move(view), kDeviceMemory);
}

std::optional<Tensor> SharedTransfer::OnHost(const Tensor& device_tensor, Stream& stream) {
  const size_t bytes = device_tensor.byte_size();
  if (bytes == 0 || !HostSeesBuffers(device())) return std::nullopt;
  const auto found = FindRegion(device_tensor.raw());
  if (!found || found->second.views > 0) return std::nullopt;  // the caller's own memory must not become a result
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(device_tensor.raw()) - found->first);
  auto* queue = static_cast<cl_command_queue>(stream.native_handle());
  if (MapAndUnmap(queue, {found->second.buffer, offset}, bytes, CL_MAP_READ) != device_tensor.raw()) return std::nullopt;
  return Tensor::Share(device_tensor.type(), device_tensor.shape(), const_cast<void*>(device_tensor.raw()),
                       device_tensor.owner(), MemoryInfo());
}

void SharedTransfer::Written(const Tensor& view) {
  const BufferRange range = DeviceAllocator::Find(view.raw());
  cl_int status = CL_SUCCESS;
  void* mapped = clEnqueueMapBuffer(queue(), range.buffer, CL_TRUE, CL_MAP_READ, range.offset, view.byte_size(), 0, nullptr,
                                    nullptr, &status);
  Check(status, "clEnqueueMapBuffer");
  if (mapped != view.raw()) std::memcpy(const_cast<void*>(view.raw()), mapped, view.byte_size());
  Check(clEnqueueUnmapMemObject(queue(), range.buffer, mapped, 0, nullptr, nullptr), "clEnqueueUnmapMemObject");
  Finish(queue());
}

}  // namespace tessera::opencl
