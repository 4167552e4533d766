#include "opencl/device/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/fork.h"
#include "base/pages.h"

namespace tessera::opencl {
namespace {

/// Fewer bytes go to and from the device faster by themselves than through pinned memory.
constexpr size_t kLeastStaged = size_t{1} << 14;

/// Of a copy over a fast bus: over a slow one, some milliseconds lie between cancellation points.
constexpr double kNsOfByte = 0.03;

/// Host memory under a buffer goes when the device is done with the buffer.
void CL_CALLBACK Unmap(cl_mem, void* block) {
  auto* bytes = static_cast<std::pair<void*, size_t>*>(block);
  munmap(bytes->first, bytes->second);
  delete bytes;
}

/// Where the host finds a pinned buffer.
std::byte* Map(cl_command_queue queue, const Buffer& buffer, cl_map_flags access, size_t bytes) {
  cl_int status = CL_SUCCESS;
  void* memory = clEnqueueMapBuffer(queue, buffer.get(), CL_TRUE, access, 0, bytes, 0, nullptr, nullptr, &status);
  Check(status, "clEnqueueMapBuffer");
  return static_cast<std::byte*>(memory);
}

}  // namespace

void Budget::Take(size_t bytes) {
  const int64_t taken = taken_ += static_cast<int64_t>(bytes);
  if (limit_ == 0 || taken <= limit_) return;
  Return(bytes);
  Fail(ErrorCode::kEpFail, "out of memory: {} bytes were asked for, {} of gpu_mem_limit {} are taken", bytes,
       taken - static_cast<int64_t>(bytes), limit_);
}

void* DeviceAllocator::Allocate(size_t bytes) {
  bytes = std::max<size_t>(bytes, 1);
  if (bytes > device_->capabilities().largest_buffer_bytes) {
    Fail(ErrorCode::kEpFail, "{} bytes were asked for; {} allocates at most {} at a time", bytes,
         device_->capabilities().name, device_->capabilities().largest_buffer_bytes);
  }
  budget_->Take(bytes);
  const int access = device_->capabilities().shares_host_memory ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* address = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    budget_->Return(bytes);
    Fail(ErrorCode::kEpFail, "no address space is left for {} bytes of device memory", bytes);
  }
  cl_mem buffer = nullptr;
  try {
    buffer = NewBuffer(address, bytes);
  } catch (...) {
    munmap(address, bytes);
    budget_->Return(bytes);
    throw;
  }
  AddRegion(address, {buffer, bytes, device_.get()});
  return address;
}

cl_mem DeviceAllocator::NewBuffer(void* address, size_t bytes) const {
  cl_int status = CL_SUCCESS;
  const bool shares = device_->capabilities().shares_host_memory;
  Buffer buffer(clCreateBuffer(device_->context(), CL_MEM_READ_WRITE | (shares ? CL_MEM_USE_HOST_PTR : 0), bytes,
                               shares ? address : nullptr, &status));
  if (status != CL_SUCCESS) {
    Fail(ErrorCode::kEpFail,
         "out of memory: {} bytes were asked for on {}, clCreateBuffer failed with OpenCL error {} ({}); use smaller "
         "inputs, or fewer runs or sessions at once",
         bytes, device_->capabilities().name, status, ErrorName(status));
  }
  if (shares) {
    // Few faults when weights and the arena are first written. Fails where the kernel has no such pages: then small ones
    // do.
    if (bytes > kHugePage) madvise(address, bytes, MADV_HUGEPAGE);
    auto block = std::make_unique<std::pair<void*, size_t>>(address, bytes);
    Check(clSetMemObjectDestructorCallback(buffer.get(), Unmap, block.get()), "clSetMemObjectDestructorCallback");
    [[maybe_unused]] const auto* unmapped_later = block.release();
  }
  return buffer.release();
}

void DeviceAllocator::Free(void* address) noexcept {
  if (LostInFork(ForeignThreads::kOpenCl)) return;  // the driver would wait for threads of the parent's
  const std::optional<Region> region = RemoveRegion(address);
  if (!region) return;
  const bool shares = device_->capabilities().shares_host_memory;
  clReleaseMemObject(region->buffer);
  budget_->Return(region->bytes);
  if (!shares) munmap(address, region->bytes);
}

BufferRange DeviceAllocator::Find(const void* address) {
  const auto found = FindRegion(address);
  if (!found) Fail(ErrorCode::kEpFail, "a value that should be in device memory is not");
  return {found->second.buffer, static_cast<size_t>(static_cast<const std::byte*>(address) - found->first)};
}

void DeviceStream::Trace(std::string_view name, cl_event command, std::chrono::steady_clock::time_point queued) const {
  if (trace_ == nullptr || command == nullptr) return;
  cl_ulong enqueued = 0, start = 0, end = 0;
  for (const auto& [what, time] :
       {std::pair(CL_PROFILING_COMMAND_QUEUED, &enqueued), std::pair(CL_PROFILING_COMMAND_START, &start),
        std::pair(CL_PROFILING_COMMAND_END, &end)}) {
    if (clGetEventProfilingInfo(command, what, sizeof *time, time, nullptr) != CL_SUCCESS)
      return;  // a driver that does not tell
  }
  // The device's clock started at some time of its own: both clocks tell when the command was enqueued.
  const int64_t at = std::chrono::duration_cast<std::chrono::nanoseconds>(queued.time_since_epoch()).count();
  const auto since = [&](cl_ulong time) { return at + static_cast<int64_t>(time - enqueued); };
  trace_->AddCommand(name, device_.capabilities().name, at, since(start), since(end));
}

void WriteInPieces(cl_command_queue queue, const void* from, BufferRange to, size_t bytes, bool wait) {
  InCancellablePieces(0, static_cast<int64_t>(bytes), kNsOfByte, [&](int64_t begin, int64_t end) {
    Check(clEnqueueWriteBuffer(queue, to.buffer, wait ? CL_TRUE : CL_FALSE, to.offset + static_cast<size_t>(begin),
                               static_cast<size_t>(end - begin), static_cast<const std::byte*>(from) + begin, 0, nullptr,
                               nullptr),
          "clEnqueueWriteBuffer");
  });
}

bool DeviceTransfer::CanCopy(const MemoryInfo& from, const MemoryInfo& to) const noexcept {
  const bool from_device = from.name == kMemoryName, to_device = to.name == kMemoryName;
  return (from_device || from.host_accessible) && (to_device || to.host_accessible) && (from_device || to_device);
}

Staging::Staging(const Device& device, cl_command_queue queue, size_t chunk_bytes)
    : queue_(queue), chunk_bytes_(chunk_bytes) {
  for (Chunk& chunk : chunks_) {
    chunk.buffer = device.NewBuffer(chunk_bytes, true);
    chunk.memory = Map(queue, chunk.buffer, CL_MAP_WRITE, chunk_bytes);
  }
}

Staging::~Staging() {
  for (Chunk& chunk : chunks_) {
    if (chunk.memory != nullptr) clEnqueueUnmapMemObject(queue_, chunk.buffer.get(), chunk.memory, 0, nullptr, nullptr);
  }
  clFinish(queue_);
}

void Staging::Upload(const void* from, BufferRange to, size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (size_t done = 0; done < bytes;) {
    CancellationPoint();
    Chunk& chunk = chunks_[next_++ % chunks_.size()];
    const size_t here = std::min(chunk_bytes_, bytes - done);
    if (cl_event fetched = chunk.fetched.get(); fetched != nullptr) Check(clWaitForEvents(1, &fetched), "clWaitForEvents");
    std::memcpy(chunk.memory, static_cast<const std::byte*>(from) + done, here);
    cl_event event = nullptr;
    Check(clEnqueueWriteBuffer(queue_, to.buffer, CL_FALSE, to.offset + done, here, chunk.memory, 0, nullptr, &event),
          "clEnqueueWriteBuffer");
    chunk.fetched = Event(event);
    Check(clFlush(queue_), "clFlush");
    done += here;
  }
}

PinnedChunks::~PinnedChunks() {
  for (const Chunk& chunk : free_)
    clEnqueueUnmapMemObject(queue_->get(), chunk.buffer.get(), chunk.memory, 0, nullptr, nullptr);
  clFinish(queue_->get());
}

PinnedChunks::Chunk PinnedChunks::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Chunk chunk = std::move(free_.back());
      free_.pop_back();
      return chunk;
    }
  }
  Chunk chunk{.buffer = device_->NewBuffer(kBytes, true)};
  chunk.memory = Map(queue_->get(), chunk.buffer, CL_MAP_READ, kBytes);
  return chunk;
}

void PinnedChunks::Return(Chunk chunk) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(chunk));
}

Downloads::~Downloads() { Drop(); }

void Downloads::Drop() noexcept {
  for (Pending& pending : pending_) chunks_->Return(std::move(pending.chunk));
  pending_.clear();
}

void Downloads::Enqueue(cl_command_queue queue, BufferRange from, std::byte* to, size_t bytes) {
  constexpr size_t kMostPending = 64;
  if (chunks_ == nullptr || bytes < kLeastStaged) {
    Check(clEnqueueReadBuffer(queue, from.buffer, CL_FALSE, from.offset, bytes, to, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
    Check(clFlush(queue), "clFlush");
    return;
  }
  const std::lock_guard lock(mutex_);
  for (size_t done = 0; done < bytes; done += PinnedChunks::kBytes) {
    CancellationPoint();
    if (pending_.size() >= kMostPending) FinishOldest();
    Pending pending{
        .chunk = chunks_->Take(), .written = {}, .to = to + done, .bytes = std::min(PinnedChunks::kBytes, bytes - done)};
    cl_event written = nullptr;
    Check(clEnqueueReadBuffer(queue, from.buffer, CL_FALSE, from.offset + done, pending.bytes, pending.chunk.memory, 0,
                              nullptr, &written),
          "clEnqueueReadBuffer");
    pending.written = Event(written);
    pending_.push_back(std::move(pending));
    Check(clFlush(queue), "clFlush");
  }
}

void Downloads::Finish() {
  const std::lock_guard lock(mutex_);
  try {
    while (!pending_.empty()) FinishOldest();
  } catch (...) {  // the run fails, and where its results should go may not be there any more
    Drop();
    throw;
  }
}

void Downloads::FinishOldest() {
  Pending& oldest = pending_.front();
  cl_event written = oldest.written.get();
  Check(clWaitForEvents(1, &written), "clWaitForEvents");
  std::memcpy(oldest.to, oldest.chunk.memory, oldest.bytes);
  chunks_->Return(std::move(oldest.chunk));
  pending_.pop_front();
}

void DeviceTransfer::Upload(cl_command_queue queue, const Tensor& from, BufferRange to, bool wait) {
  constexpr size_t kChunk = size_t{1} << 22;
  const size_t bytes = from.byte_size();
  if (staged_ && bytes >= kLeastStaged && queue == queue_->get()) {
    std::call_once(staging_once_, [&] { staging_ = std::make_unique<Staging>(*device_, queue_->get(), kChunk); });
    staging_->Upload(from.unaligned_raw(), to, bytes);
    return;
  }
  WriteInPieces(queue, from.unaligned_raw(), to, bytes, wait);
}

void DeviceTransfer::Copy(const Tensor& from, Tensor& to, Stream* stream) {
  const size_t bytes = from.byte_size();
  if (bytes == 0) return;
  const bool wait = stream == nullptr;
  cl_command_queue queue = wait ? queue_->get() : static_cast<cl_command_queue>(stream->native_handle());
  const bool from_device = from.memory().name == kMemoryName, to_device = to.memory().name == kMemoryName;
  // On a stream nothing waits: whoever reads the result on the host, or ends the run, synchronizes it.
  if (from_device && to_device) {
    const BufferRange source = DeviceAllocator::Find(from.raw()), target = DeviceAllocator::Find(to.raw());
    Check(
        clEnqueueCopyBuffer(queue, source.buffer, target.buffer, source.offset, target.offset, bytes, 0, nullptr, nullptr),
        "clEnqueueCopyBuffer");
    if (wait) Finish(queue);
  } else if (to_device) {
    Upload(queue, from, DeviceAllocator::Find(to.raw()), wait);
    if (wait) Finish(queue);
  } else {
    const BufferRange source = DeviceAllocator::Find(from.raw());
    auto* target = static_cast<std::byte*>(to.mutable_raw());
    if (wait) {
      InCancellablePieces(0, static_cast<int64_t>(bytes), kNsOfByte, [&](int64_t begin, int64_t end) {
        Check(clEnqueueReadBuffer(queue, source.buffer, CL_TRUE, source.offset + static_cast<size_t>(begin),
                                  static_cast<size_t>(end - begin), target + begin, 0, nullptr, nullptr),
              "clEnqueueReadBuffer");
      });
    } else {
      static_cast<DeviceStream*>(stream)->downloads().Enqueue(queue, source, target, bytes);
    }
  }
  if (stream != nullptr && static_cast<const DeviceStream*>(stream)->waits()) stream->Synchronize();
}

}  // namespace tessera::opencl
