#include "onednn/program/program.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/rounding.h"
#include "runtime/plan/buffer_arranger.h"

namespace tessera::onednn {
namespace {

struct Life {
  size_t first = std::numeric_limits<size_t>::max();
  size_t last = 0;
};

}  // namespace

const dnnl::engine& CpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::pair<MemoryIndex, size_t> Program::Root(MemoryIndex memory) const {
  size_t offset = 0;
  while (memories[static_cast<size_t>(memory)].kind == MemoryKind::kAlias) {
    offset += memories[static_cast<size_t>(memory)].offset;
    memory = memories[static_cast<size_t>(memory)].index;
  }
  return {memory, offset};
}

void Program::PlanTemporaries() {
  std::vector<Life> lives(memories.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    for (const auto& [argument, memory] : commands[i].arguments) {
      Life& life = lives[static_cast<size_t>(Root(memory).first)];
      life.first = std::min(life.first, i);
      life.last = std::max(life.last, i);
    }
  }
  // What oneDNN 2.6's convolutions of bytes load behind the last pixel of an image, whole vectors of channels, and do not
  // use.
  constexpr size_t kReadBehind = 64;
  // Largest first, each at the lowest offset that no overlapping life holds.
  std::vector<size_t> order;
  for (size_t i = 0; i < memories.size(); ++i) {
    if (memories[i].kind == MemoryKind::kTemporary && lives[i].first <= lives[i].last) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return memories[a].desc.get_size() > memories[b].desc.get_size(); });
  PlacedBuffers placed(commands.size());
  std::vector<const PlacedBuffers::Placed*> meeting;
  // Lives that may still be compared: of very many that all overlap the last ones go behind the others.
  constexpr size_t kLeastEffort = 64;
  size_t effort = size_t{1} << 22;
  for (size_t i : order) {
    const size_t size = RoundUp(memories[i].desc.get_size() + kReadBehind, kHostAlignment);
    const BufferLife life{
        .first = static_cast<int32_t>(lives[i].first), .last = static_cast<int32_t>(lives[i].last), .bytes = size};
    const size_t most = std::max(effort, kLeastEffort);
    placed.FindMeeting(life, most, meeting);
    effort -= std::min(effort, meeting.size());
    size_t offset = 0;
    if (meeting.size() > most) {
      offset = placed.EndOf(life);
    } else {
      for (const PlacedBuffers::Placed* other : meeting) {
        if (offset + size <= other->offset) break;
        offset = std::max(offset, other->offset + other->life.bytes);
      }
    }
    memories[i].offset = offset;
    block_bytes_ = std::max(block_bytes_, offset + size);
    placed.Add(life, offset);
  }
}

std::string Program::Implementations() const {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    const char* name = "tessera";
    if (command.native == nullptr) {
      const_dnnl_primitive_desc_t description = nullptr;
      if (dnnl_primitive_get_primitive_desc(command.primitive.get(), &description) != dnnl_success) continue;
      if (dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, static_cast<void*>(&name)) != dnnl_success)
        continue;
    }
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

bool Program::is_small() const {
  constexpr double kOperationsPerNs = 40, kBytesPerNs = 8, kTeamNs = 5000;
  double bytes = 0;
  for (const Command& command : commands) {
    for (const auto& [argument, memory] : command.arguments)
      bytes += static_cast<double>(memories[static_cast<size_t>(memory)].desc.get_size());
  }
  return operations / kOperationsPerNs + bytes / kBytesPerNs < kTeamNs * static_cast<double>(commands.size());
}

std::unique_ptr<Program::Execution> Program::NewExecution() const {
  auto execution = std::make_unique<Execution>();
  for (const MemorySlot& slot : memories) {
    execution->memories.push_back(
        slot.kind == MemoryKind::kConstant ? *slot.constant : dnnl::memory(slot.desc, CpuEngine(), DNNL_MEMORY_NONE));
  }
  for (const Command& command : commands) {
    auto& list = execution->arguments.emplace_back();
    for (const auto& [argument, memory] : command.arguments) {
      list.push_back({argument, execution->memories[static_cast<size_t>(memory)].get()});
    }
  }
  execution->stream = dnnl::stream(CpuEngine());
  return execution;
}

void Program::Bind(Execution& execution, std::span<const void* const> inputs, std::span<void* const> outputs,
                   std::byte* block) const {
  for (size_t i = 0; i < memories.size(); ++i) {
    const auto [root, offset] = Root(static_cast<MemoryIndex>(i));
    const MemorySlot& slot = memories[static_cast<size_t>(root)];
    if (slot.kind == MemoryKind::kConstant) continue;
    void* data = slot.kind == MemoryKind::kInput    ? const_cast<void*>(inputs[static_cast<size_t>(slot.index)])
                 : slot.kind == MemoryKind::kOutput ? outputs[static_cast<size_t>(slot.index)]
                                                    : block + slot.offset;
    dnnl_memory_set_data_handle(execution.memories[i].get(), static_cast<std::byte*>(data) + offset);
  }
}

dnnl_status_t Program::Execute(const Execution& execution, ThreadPool& pool) const {
  for (size_t i = 0; i < commands.size(); ++i) {
    CancellationPoint();
    const Command& command = commands[i];
    const auto& arguments = execution.arguments[i];
    if (command.native == nullptr) {
      const dnnl_status_t status = dnnl_primitive_execute(command.primitive.get(), execution.stream.get(),
                                                          static_cast<int>(arguments.size()), arguments.data());
      if (status != dnnl_success) return status;
      continue;
    }
    std::array<void*, 12> pointers;
    Require(arguments.size() <= pointers.size(), "a step has {} arguments, the most are {}", arguments.size(),
            pointers.size());
    for (size_t j = 0; j < arguments.size(); ++j) dnnl_memory_get_data_handle(arguments[j].memory, &pointers[j]);
    command.native->Run(std::span(pointers.data(), arguments.size()), pool);
  }
  return dnnl_success;
}

void Program::Run(std::span<const void* const> inputs, std::span<void* const> outputs, std::byte* block, ThreadPool& pool) {
  std::unique_ptr<Execution> execution;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      execution = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (execution == nullptr) execution = NewExecution();
  Bind(*execution, inputs, outputs, block);
  // A run that is cancelled drops its execution: what it enqueued is done when Execute returns, since primitives of
  // processors run at once.
  const dnnl_status_t status = Execute(*execution, pool);
  execution->stream.wait();
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(execution));
  }
  if (status != dnnl_success)
    Fail(ErrorCode::kEpFail, "oneDNN cannot execute a primitive: status {}", static_cast<int>(status));
}

}  // namespace tessera::onednn
