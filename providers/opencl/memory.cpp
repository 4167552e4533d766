#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <shared_mutex>

#include "base/check.h"

namespace tessera::opencl {
namespace {

struct Allocation {
  cl_mem buffer;
  size_t bytes;
};

std::shared_mutex allocations_mutex;
std::map<const std::byte*, Allocation, std::greater<>> allocations;  // by address, highest first: lower_bound finds the holder

}  // namespace

void Budget::Take(size_t bytes) {
  const int64_t taken = taken_ += static_cast<int64_t>(bytes);
  if (limit_ == 0 || taken <= limit_) return;
  Return(bytes);
  Fail(ErrorCode::kEpFail, "out of memory: {} bytes were asked for, {} of gpu_mem_limit {} are taken", bytes,
       taken - static_cast<int64_t>(bytes), limit_);
}

void* DeviceAllocator::Allocate(size_t bytes) {
  cl_int status = CL_SUCCESS;
  bytes = std::max<size_t>(bytes, 1);
  if (bytes > device_->capabilities().largest_buffer_bytes) {
    Fail(ErrorCode::kEpFail, "{} bytes were asked for; {} allocates at most {} at a time", bytes, device_->capabilities().name,
         device_->capabilities().largest_buffer_bytes);
  }
  budget_->Take(bytes);
  cl_mem buffer = clCreateBuffer(device_->context(), CL_MEM_READ_WRITE, bytes, nullptr, &status);
  if (status != CL_SUCCESS) {
    budget_->Return(bytes);
    Fail(ErrorCode::kEpFail, "out of memory: {} bytes were asked for on {} (OpenCL error {})", bytes, device_->capabilities().name, status);
  }
  void* address = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    clReleaseMemObject(buffer);
    budget_->Return(bytes);
    Fail(ErrorCode::kEpFail, "no address space is left for {} bytes of device memory", bytes);
  }
  const std::lock_guard lock(allocations_mutex);
  allocations[static_cast<const std::byte*>(address)] = {buffer, bytes};
  return address;
}

void DeviceAllocator::Free(void* address) noexcept {
  Allocation allocation{};
  {
    const std::lock_guard lock(allocations_mutex);
    const auto found = allocations.find(static_cast<const std::byte*>(address));
    if (found == allocations.end()) return;
    allocation = found->second;
    allocations.erase(found);
  }
  clReleaseMemObject(allocation.buffer);
  budget_->Return(allocation.bytes);
  munmap(address, allocation.bytes);
}

BufferRange DeviceAllocator::Find(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  const std::shared_lock lock(allocations_mutex);
  const auto found = allocations.lower_bound(byte);
  if (found == allocations.end() || byte >= found->first + found->second.bytes) {
    Fail(ErrorCode::kEpFail, "a value that should be in device memory is not");
  }
  return {found->second.buffer, static_cast<size_t>(byte - found->first)};
}

bool DeviceTransfer::CanCopy(const MemoryInfo& from, const MemoryInfo& to) const noexcept {
  const bool from_device = from.name == kMemoryName, to_device = to.name == kMemoryName;
  return (from_device || from.host_accessible) && (to_device || to.host_accessible) && (from_device || to_device);
}

void DeviceTransfer::Copy(const Tensor& from, Tensor& to, Stream* stream) {
  const size_t bytes = from.byte_size();
  if (bytes == 0) return;
  cl_command_queue queue = stream != nullptr ? static_cast<cl_command_queue>(stream->native_handle()) : queue_->get();
  const bool from_device = from.memory().name == kMemoryName, to_device = to.memory().name == kMemoryName;
  // Writes block: the host's buffer may be reused as soon as this returns.
  if (from_device && to_device) {
    const BufferRange source = DeviceAllocator::Find(from.raw()), target = DeviceAllocator::Find(to.raw());
    Check(clEnqueueCopyBuffer(queue, source.buffer, target.buffer, source.offset, target.offset, bytes, 0, nullptr, nullptr),
          "clEnqueueCopyBuffer");
    if (stream == nullptr) Check(clFinish(queue), "clFinish");
  } else if (to_device) {
    const BufferRange target = DeviceAllocator::Find(to.raw());
    Check(clEnqueueWriteBuffer(queue, target.buffer, CL_TRUE, target.offset, bytes, from.unaligned_raw(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  } else {
    const BufferRange source = DeviceAllocator::Find(from.raw());
    Check(clEnqueueReadBuffer(queue, source.buffer, CL_TRUE, source.offset, bytes, to.mutable_raw(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
}

}  // namespace tessera::opencl
