#include "tessera/session.h"

#include <utility>

#include "base/check.h"
#include "session/session_state.h"

namespace tessera {

Session::Session(const std::filesystem::path& model, const SessionOptions& options, const Environment& environment)
    : state_(std::make_shared<State>(options, environment.state())) {
  state_->Load({.file = model}, [&](const LoadOptions& load) { return LoadModel(model, load); });
}

Session::Session(std::span<const std::byte> model, const SessionOptions& options, const Environment& environment,
                 std::shared_ptr<const void> keep_alive, const std::filesystem::path& folder)
    : state_(std::make_shared<State>(options, environment.state())) {
  state_->Load({.bytes = model, .folder = folder},
               [&](const LoadOptions& load) { return LoadModel(model, keep_alive, folder, load); });
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<NamedType>& Session::inputs() const noexcept { return state_->inputs; }
const std::vector<NamedType>& Session::outputs() const noexcept { return state_->outputs; }
const std::vector<NamedType>& Session::overridable_initializers() const noexcept { return state_->overridable; }
const ModelMetadata& Session::metadata() const noexcept { return state_->model.metadata; }
const PlacementReport& Session::placement() const noexcept { return state_->placement; }
const OptimizationReport& Session::optimization() const noexcept { return state_->optimization; }
const ContextReport& Session::context() const noexcept { return state_->context; }

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
          from.shape(), ElementTypeName(to.type()), to.shape());
  state_->resources.Copy(from, to);
}

std::filesystem::path Session::EndProfiling() {
  Require(state_->profiler != nullptr, "the session does not profile: set profile_prefix");
  return state_->profiler->Finish();
}

}  // namespace tessera
