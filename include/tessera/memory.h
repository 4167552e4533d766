#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/export.h"

namespace tessera {

enum class DeviceType : int8_t { kCpu = 0, kGpu = 1, kNpu = 2 };

/// Names one memory: where a buffer lives and who allocates it. Two tensors with equal MemoryInfo can be used by the same
/// kernel without a copy.
struct MemoryInfo {
  /// Allocator kind: "Cpu", "OpenCL", "OpenCLPinned", ... A literal or a string that lives as long as the process.
  std::string_view name = "Cpu";
  DeviceType device = DeviceType::kCpu;
  int32_t device_id = 0;
  /// True when the host may read and write the buffer through its pointer.
  bool host_accessible = true;

  bool operator==(const MemoryInfo&) const = default;
};

/// Alignment of every host buffer: one AVX-512 vector, one cache line.
inline constexpr size_t kHostAlignment = 64;

/// In bytes, but for `allocations`, the number of calls of Allocate so far.
struct AllocatorStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t bytes_reserved = 0;  // taken from the device, in use or not
  int64_t allocations = 0;
  std::optional<int64_t> limit;
};

/// Gives out buffers of one memory. Thread-safe. For device memories the pointer may be a handle that only the provider
/// understands; it is never dereferenced by the framework. A tensor made with an allocator refers to it until its buffer is
/// freed; a session's allocators live until then, whether the session does or not.
class TESSERA_API Allocator {
 public:
  virtual ~Allocator() = default;
  virtual const MemoryInfo& memory() const noexcept = 0;
  /// False when buffers are opaque handles: an address inside one means nothing, so that arenas reuse whole buffers only.
  virtual bool addressable() const noexcept { return true; }
  /// Never returns null for bytes > 0; throws Error naming the limit and the size when memory runs out.
  virtual void* Allocate(size_t bytes) = 0;
  /// Of a buffer of this allocator, once, from any thread; null: nothing.
  virtual void Free(void* buffer) noexcept = 0;
  virtual AllocatorStats stats() const { return {}; }
  /// Gives unused reserved memory back to the device.
  virtual void Shrink() {}
  /// Counts memory that belongs to values but lies outside this allocator's buffers, such as the characters of strings,
  /// against the same limits. Throws Error as Allocate does. MemoryCharge calls it and gives back what it counted.
  virtual void Charge(size_t /*bytes*/) {}
  virtual void Refund(size_t /*bytes*/) noexcept {}
};

/// Memory outside an allocator's buffers that counts against its limits for as long as this object lives: a kernel's own
/// tables, the characters of strings, the elements of a sequence. The allocator lives at least as long, as it does for its
/// buffers.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  /// Throws Error, and counts nothing, where the limit would be exceeded.
  explicit MemoryCharge(Allocator& allocator, size_t bytes = 0) : allocator_(&allocator) { Add(bytes); }
  MemoryCharge(MemoryCharge&& other) noexcept
      : allocator_(std::exchange(other.allocator_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryCharge() {
    if (bytes_ > 0) allocator_->Refund(bytes_);
  }

  /// Throws Error as the constructor does; what was counted before stays.
  void Add(size_t bytes) {
    if (bytes == 0 || allocator_ == nullptr) return;
    allocator_->Charge(bytes);
    bytes_ += bytes;
  }
  /// Of what was counted, no more than that.
  void GiveBack(size_t bytes) noexcept {
    if (bytes == 0 || allocator_ == nullptr) return;
    allocator_->Refund(bytes);
    bytes_ -= bytes;
  }
  size_t bytes() const noexcept { return bytes_; }

 private:
  Allocator* allocator_ = nullptr;
  size_t bytes_ = 0;
};

/// The process's plain host allocator (kHostAlignment aligned).
TESSERA_API Allocator& HostAllocator();

}  // namespace tessera
