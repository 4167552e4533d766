#pragma once

// What all plans of a session share: providers, memories, threads, transfers, the profiler.

#include <tbb/task_arena.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/load_limits.h"
#include "graph/operator_definitions.h"
#include "runtime/threads/thread_pools.h"
#include "tessera/memory.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/provider/memory_sharing.h"

namespace tessera {

class PackedStore;
class Profiler;

/// One memory of a session and the allocator that every buffer in it comes from.
struct MemorySpace {
  MemoryInfo info;
  std::shared_ptr<Allocator> allocator;
};

struct ProviderEntry {
  std::unique_ptr<ExecutionProvider> provider;
  std::unique_ptr<DataTransfer> transfer;  // null on host providers
  MemorySharing* sharing = nullptr;        // the transfer, where values need no copies
  int16_t memory = 0;                      // index into memories
  bool of_program = false;                 // see ProviderFactory
};

class SessionResources {
 public:
  SessionResources() = default;
  SessionResources(const SessionResources&) = delete;
  SessionResources& operator=(const SessionResources&) = delete;

  static constexpr int16_t kHost = 0;

  /// Host memory for what the session keeps from its load on.
  Allocator& load_memory() const noexcept { return limits == nullptr ? HostAllocator() : limits->memory(); }
  /// The session's threads for work at load, which ends in an error where the load is stopped.
  ThreadPool& load_threads() const noexcept { return load_pool == nullptr ? *threads : *load_pool; }
  /// Throws where the load is stopped.
  void CheckLoad() const {
    if (limits != nullptr) limits->Check();
  }
  /// The index of a memory, or -1.
  int16_t FindMemory(const MemoryInfo& info) const noexcept;
  /// Copies between any two memories, over the host where no provider can do it directly.
  void Copy(const Tensor& from, Tensor& to, Stream* stream = nullptr) const;
  /// How tensors of a memory and the host's are used in place; null where they are copied.
  MemorySharing* SharingOf(int16_t memory) const noexcept;
  /// The provider that owns a device memory; the last one (CPU) for the host.
  int16_t ProviderOf(int16_t memory) const noexcept;
  /// A constant in a device memory: uploaded once, shared by every plan that reads it there.
  Tensor DeviceConstant(const Tensor& constant, int16_t memory) const;
  /// Of a plan that was given up, whose constants may be elsewhere next time.
  void ForgetDeviceConstants() const;

  // Freed last: kernels and tensors refer to the allocators.
  std::vector<MemorySpace> memories;   // [0] is the host
  std::shared_ptr<LoadLimits> limits;  // of the load; kernels and constants keep what they took there
  std::shared_ptr<SessionThreadPool> threads;
  std::unique_ptr<ThreadPool> load_pool;  // the same threads, stopped with the load; null: it cannot be stopped
  std::vector<ProviderEntry> providers;   // priority order, CPU last
  Profiler* profiler = nullptr;           // null: not profiling
  bool memory_pattern = true;
  bool parallel = false;                            // ExecutionMode::kParallel
  std::shared_ptr<tbb::task_arena> inter_op_arena;  // null unless parallel
  bool has_streams = false;
  std::optional<OperatorDefinitions> definitions;  // by the providers
  PackedStore* packed = nullptr;                   // null without a context
  bool share_prepacked = true;                     // packed weights are shared with other sessions

 private:
  /// What lies at one address may be several constants: initializers overlap in an external file.
  struct ConstantKey {
    const void* address;
    size_t bytes;
    ElementType type;
    int16_t memory;
    auto operator<=>(const ConstantKey&) const = default;
  };
  mutable std::mutex constants_mutex_;
  mutable std::map<ConstantKey, Tensor> device_constants_;
};

}  // namespace tessera
