#pragma once

// A region compiled for one set of input shapes: oneDNN primitives over numbered memories.

#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

#include "onednn/program/primitives.h"
#include "tessera/provider/kernel.h"
#include "tessera/provider/thread_pool.h"

namespace tessera::onednn {

/// The process's one CPU engine.
const dnnl::engine& CpuEngine();

using MemoryIndex = int;

enum class MemoryKind : int8_t { kInput, kOutput, kTemporary, kConstant, kAlias };

struct MemorySlot {
  Desc desc;
  MemoryKind kind;
  /// Input or output number of the region; the memory an alias looks at.
  int index = 0;
  size_t offset = 0;  // in bytes: of a temporary in the block, of an alias in the memory it looks at
  std::shared_ptr<const dnnl::memory> constant;
};

/// A step that no primitive of oneDNN does, or does slower.
class NativeStep {
 public:
  virtual ~NativeStep() = default;
  /// `memories`: the elements of the command's arguments, in their order.
  virtual void Run(std::span<void* const> memories, ThreadPool& threads) const = 0;
};

struct Command {
  dnnl::primitive primitive;
  std::vector<std::pair<int, MemoryIndex>> arguments;  // DNNL_ARG_*, memory
  std::shared_ptr<const NativeStep> native = nullptr;  // instead of the primitive; its arguments have no DNNL_ARG
};

class Program {
 public:
  std::vector<MemorySlot> memories;
  std::vector<Command> commands;
  std::vector<Shape> output_shapes;

  double operations = 0;  // multiplications and additions of convolutions and matmuls
  int threads = 1;        // that its primitives were made for
  MemoryCharge charge;    // of what it keeps, packed constants above all

  /// Whether one thread takes less time than starting a team for each command.
  bool is_small() const;

  /// Gives temporaries whose lives do not meet the same bytes. Call once, when all commands stand.
  void PlanTemporaries();

  /// The memory that holds an alias's elements, and where in it they begin.
  std::pair<MemoryIndex, size_t> Root(MemoryIndex memory) const;

  /// Bytes that Run needs for temporaries.
  size_t block_bytes() const noexcept { return block_bytes_; }

  /// What oneDNN calls the implementations of its primitives, in order, each once; "tessera" for steps of our own.
  std::string Implementations() const;

  /// Runs on the calling thread's OpenMP team, which `pool` hands out, too. Re-entrant.
  void Run(std::span<const void* const> inputs, std::span<void* const> outputs, std::byte* block, ThreadPool& pool);

 private:
  /// Memory objects and argument lists of one run at a time; reused.
  struct Execution {
    std::vector<dnnl::memory> memories;
    std::vector<std::vector<dnnl_exec_arg_t>> arguments;
    dnnl::stream stream;
  };
  void Bind(Execution& execution, std::span<const void* const> inputs, std::span<void* const> outputs,
            std::byte* block) const;
  dnnl_status_t Execute(const Execution& execution, ThreadPool& pool) const;
  std::unique_ptr<Execution> NewExecution() const;

  size_t block_bytes_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Execution>> idle_;
};

}  // namespace tessera::onednn
