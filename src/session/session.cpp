#include "tessera/session.h"

#include <utility>

#include "base/check.h"
#include "partition/partition.h"
#include "runtime/arena.h"
#include "runtime/plan_builder.h"
#include "runtime/thread_pools.h"
#include "session/session_state.h"

namespace tessera {
namespace {

std::shared_ptr<Allocator> RawHost() { return std::shared_ptr<Allocator>(&HostAllocator(), [](Allocator*) {}); }

void Prepare(Session::State& state) {
  SessionResources& resources = state.resources;
  const ArenaSettings arena{.extend = static_cast<ArenaExtend>(state.options.arena.extend), .limit = state.options.arena.limit};
  resources.memories.push_back({MemoryInfo{}, Arena::Make(RawHost(), arena)});
  resources.threads = MakeWorkerPool(state.options.intra_op_threads > 0 ? state.options.intra_op_threads : UsableCores());
  const ProviderFactory* cpu = FindProvider("cpu");
  resources.providers.push_back({cpu->create({}), nullptr, SessionResources::kHost});
  resources.providers.back().provider->Attach({.threads = resources.threads.get()});

  Graph& graph = *state.model.graph;
  GraphPartition partition = PartitionGraph(graph, resources, {}, state.placement);
  auto plan = BuildPlan(graph, std::move(partition), resources, state.placement);
  state.executor = std::make_unique<Executor>(std::move(plan), resources, false);

  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const GraphValue& value = graph.value(graph.inputs()[i]);
    state.input_position[value.name] = i;
    if (value.default_value.has_value()) {
      state.overridable.push_back({value.name, value.type});
    } else {
      state.inputs.push_back({value.name, value.type});
      state.required.push_back(i);
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphValue& value = graph.value(graph.outputs()[i]);
    state.output_position[value.name] = i;
    state.outputs.push_back({value.name, value.type});
    state.all_outputs.push_back(i);
  }
}

}  // namespace

Session::Session(const std::filesystem::path& model, const SessionOptions& options, const Environment& environment)
    : state_(std::make_shared<State>()) {
  state_->environment = environment.state();
  state_->options = options;
  state_->model = LoadModel(model, {.free_dimensions = options.free_dimensions});
  Prepare(*state_);
}

Session::Session(std::span<const std::byte> model, const SessionOptions& options, const Environment& environment,
                 std::shared_ptr<const void> keep_alive, const std::filesystem::path& folder)
    : state_(std::make_shared<State>()) {
  state_->environment = environment.state();
  state_->options = options;
  state_->model = LoadModel(model, std::move(keep_alive), folder, {.free_dimensions = options.free_dimensions});
  Prepare(*state_);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<NamedType>& Session::inputs() const noexcept { return state_->inputs; }
const std::vector<NamedType>& Session::outputs() const noexcept { return state_->outputs; }
const std::vector<NamedType>& Session::overridable_initializers() const noexcept { return state_->overridable; }
const ModelMetadata& Session::metadata() const noexcept { return state_->model.metadata; }
const PlacementReport& Session::placement() const noexcept { return state_->placement; }

std::vector<MemoryUse> Session::memory_use() const {
  std::vector<MemoryUse> use;
  for (const MemorySpace& memory : state_->resources.memories) {
    use.push_back({std::string(memory.info.name), memory.allocator->stats()});
  }
  return use;
}

std::vector<std::string> Session::providers() const {
  std::vector<std::string> names;
  for (const ProviderEntry& entry : state_->resources.providers) names.emplace_back(entry.provider->name());
  return names;
}

Allocator& Session::allocator(const MemoryInfo& memory) const {
  const int16_t index = state_->resources.FindMemory(memory);
  Require(index >= 0, "the session has no memory {}", memory.name);
  return *state_->resources.memories[static_cast<size_t>(index)].allocator;
}

void Session::Copy(const Tensor& from, Tensor& to) const {
  Require(from.type() == to.type() && from.shape() == to.shape(), "cannot copy {} {} to {} {}", ElementTypeName(from.type()),
          from.shape().ToString(), ElementTypeName(to.type()), to.shape().ToString());
  state_->resources.Copy(from, to);
}

std::filesystem::path Session::EndProfiling() { return {}; }

}  // namespace tessera
