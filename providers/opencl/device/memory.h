#pragma once

#include <CL/cl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "opencl/device/device.h"
#include "opencl/device/pace.h"
#include "opencl/device/regions.h"
#include "tessera/memory.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::opencl {

inline constexpr std::string_view kMemoryName = "OpenCL";
inline const MemoryInfo kDeviceMemory{kMemoryName, DeviceType::kGpu, 0, false};

/// How much device memory a session may still take, arena and constants together.
class Budget {
 public:
  /// `limit` 0: no limit.
  explicit Budget(int64_t limit) : limit_(limit) {}
  /// Throws Error naming the limit when it would be passed.
  void Take(size_t bytes);
  void Return(size_t bytes) noexcept { taken_ -= static_cast<int64_t>(bytes); }

 private:
  const int64_t limit_;
  std::atomic<int64_t> taken_ = 0;
};

/// Gives device buffers addresses, so that arenas and planners can divide them by pointer arithmetic. Where the device
/// shares the host's memory, buffers lie in it at their address. Elsewhere addresses lie in reserved, unreadable address
/// space: a host that reads one by mistake faults instead of reading nonsense.
class DeviceAllocator final : public Allocator {
 public:
  DeviceAllocator(std::shared_ptr<Device> device, std::shared_ptr<Budget> budget)
      : device_(std::move(device)), budget_(std::move(budget)) {}

  const MemoryInfo& memory() const noexcept override { return memory_; }
  void* Allocate(size_t bytes) override;
  void Free(void* buffer) noexcept override;
  void Charge(size_t bytes) override { budget_->Take(bytes); }
  void Refund(size_t bytes) noexcept override { budget_->Return(bytes); }

  /// The buffer behind any address inside an allocation of any DeviceAllocator. Throws Error for other addresses.
  static BufferRange Find(const void* address);

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<Budget> budget_;
  cl_mem NewBuffer(void* address, size_t bytes) const;

  MemoryInfo memory_{kMemoryName, DeviceType::kGpu, 0, false};
};

/// Enqueues a copy from host memory, piece by piece, with cancellation points between them; `wait`: each is waited for.
void WriteInPieces(cl_command_queue queue, const void* from, BufferRange to, size_t bytes, bool wait);

/// Pinned host memory that uploads pass through where the device has memory of its own: the host fills one chunk while the
/// device fetches the other, and the caller's memory is free on return.
class Staging {
 public:
  Staging(const Device& device, cl_command_queue queue, size_t chunk_bytes);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  /// Enqueues; waits for no more than an earlier chunk.
  void Upload(const void* from, BufferRange to, size_t bytes);

 private:
  struct Chunk {
    Buffer buffer;
    std::byte* memory = nullptr;
    Event fetched;
  };
  cl_command_queue queue_;
  size_t chunk_bytes_;
  std::mutex mutex_;
  std::array<Chunk, 2> chunks_;
  size_t next_ = 0;
};

/// Pinned host memory, in chunks of one size, that results pass through where the device has memory of its own. Shared by
/// the runs of a session.
class PinnedChunks {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;
  struct Chunk {
    Buffer buffer;
    std::byte* memory = nullptr;
  };

  PinnedChunks(std::shared_ptr<const Device> device, std::shared_ptr<const Queue> queue)
      : device_(std::move(device)), queue_(std::move(queue)) {}
  ~PinnedChunks();
  PinnedChunks(const PinnedChunks&) = delete;
  PinnedChunks& operator=(const PinnedChunks&) = delete;

  Chunk Take();
  /// What the queue still writes to it, it writes before the chunk's next use.
  void Return(Chunk chunk);

 private:
  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Queue> queue_;
  std::mutex mutex_;
  std::vector<Chunk> free_;
};

/// Results on their way to the host: the device writes them to pinned memory while the host goes on.
class Downloads {
 public:
  /// `chunks` null: the device shares the host's memory.
  explicit Downloads(std::shared_ptr<PinnedChunks> chunks) : chunks_(std::move(chunks)) {}
  ~Downloads();
  Downloads(const Downloads&) = delete;
  Downloads& operator=(const Downloads&) = delete;

  /// Enqueues a copy to `to`, which Finish() completes.
  void Enqueue(cl_command_queue queue, BufferRange from, std::byte* to, size_t bytes);
  void Finish();

 private:
  struct Pending {
    PinnedChunks::Chunk chunk;
    Event written;
    std::byte* to;
    size_t bytes;
  };
  void FinishOldest();
  void Drop() noexcept;

  std::shared_ptr<PinnedChunks> chunks_;
  std::mutex mutex_;
  std::deque<Pending> pending_;
};

class DeviceTransfer : public DataTransfer {
 public:
  /// `staged`: uploads go through pinned memory.
  DeviceTransfer(std::shared_ptr<const Device> device, std::shared_ptr<const Queue> queue, bool staged)
      : device_(std::move(device)), queue_(std::move(queue)), staged_(staged) {}
  bool CanCopy(const MemoryInfo& from, const MemoryInfo& to) const noexcept override;
  void Copy(const Tensor& from, Tensor& to, Stream* stream) override;

 protected:
  const Device& device() const noexcept { return *device_; }
  cl_command_queue queue() const noexcept { return queue_->get(); }

 private:
  void Upload(cl_command_queue queue, const Tensor& from, BufferRange to, bool wait);

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Queue> queue_;
  const bool staged_;
  std::once_flag staging_once_;
  std::unique_ptr<Staging> staging_;  // when it is first needed
};

/// Every stream of a session is the same in-order queue: memory that one run gives back to the arena may go to another run
/// at once, because what is enqueued later also runs later.
class DeviceStream final : public Stream {
 public:
  /// `waits`: each kernel is waited for, so that a profile gives its node the time that it takes on the device. Its own
  /// times go to `trace`.
  DeviceStream(std::shared_ptr<const Queue> queue, std::shared_ptr<PinnedChunks> chunks, bool waits, const Device& device,
               DeviceTrace* trace)
      : queue_(std::move(queue)),
        pace_(queue_->get()),
        downloads_(std::move(chunks)),
        waits_(waits),
        device_(device),
        trace_(trace) {}
  bool waits() const noexcept { return waits_; }
  /// When a command ran that is done; `queued`: the host's clock when it was enqueued.
  void Trace(std::string_view name, cl_event command, std::chrono::steady_clock::time_point queued) const;
  Downloads& downloads() noexcept { return downloads_; }
  QueuePace& pace() noexcept { return pace_; }
  const Device& device() const noexcept { return device_; }
  void Synchronize() override {
    downloads_.Finish();
    pace_.Forget();
    Finish(queue_->get());
  }
  void* native_handle() const noexcept override { return queue_->get(); }

 private:
  std::shared_ptr<const Queue> queue_;
  QueuePace pace_;
  Downloads downloads_;
  bool waits_;
  const Device& device_;
  DeviceTrace* trace_;
};

}  // namespace tessera::opencl
