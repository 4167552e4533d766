#include "tessera/session.h"

#include <utility>

#include "base/check.h"
#include "base/only_errors.h"
#include "base/stack.h"
#include "runtime/threads/float_mode.h"
#include "session/session_state.h"

namespace tessera {
namespace {

/// What loading may take of a stack: graphs lie in graphs, and schemas' inference and devices' compilers have frames of
/// their own.
constexpr size_t kLoadStack = size_t{2} << 20;

/// A session's state with what `read` makes of the model.
std::shared_ptr<Session::State> Loaded(const SessionOptions& options, const Environment& environment,
                                       const Session::State::Origin& origin, const Session::State::LoadFunction& read) {
  auto state = Session::State::Make(options, environment.state());
  WithStack(kLoadStack, [&] { state->Load(origin, read); });
  return state;
}

}  // namespace

Session::Session(const std::filesystem::path& model, const SessionOptions& options, const Environment& environment)
    : state_(OnlyErrors([&] {
        return Loaded(options, environment, {.file = model},
                      [&](const LoadOptions& load) { return LoadModel(model, load); });
      })) {}

Session::Session(std::span<const std::byte> model, const SessionOptions& options, const Environment& environment,
                 std::shared_ptr<const void> keep_alive, const std::filesystem::path& folder)
    : state_(OnlyErrors([&] {
        return Loaded(options, environment, {.bytes = model, .folder = folder},
                      [&](const LoadOptions& load) { return LoadModel(model, keep_alive, folder, load); });
      })) {}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Session::State& Session::loaded() const {
  Require(state_ != nullptr, "the session was moved from: it has no model");
  return *state_;
}

const std::vector<NamedType>& Session::inputs() const { return loaded().model->inputs; }
const std::vector<NamedType>& Session::outputs() const { return loaded().model->outputs; }
const std::vector<NamedType>& Session::overridable_initializers() const { return loaded().model->overridable; }
const ModelMetadata& Session::metadata() const { return loaded().model->metadata; }
const ModelSizes& Session::sizes() const { return loaded().model->sizes; }
const PlacementReport& Session::placement() const { return loaded().model->placement; }
const OptimizationReport& Session::optimization() const { return loaded().model->optimization; }
const ContextReport& Session::context() const { return loaded().model->context; }
const std::vector<std::string>& Session::warnings() const { return loaded().model->warnings; }

std::vector<MemoryUse> Session::memory_use() const {
  std::vector<MemoryUse> use;
  for (const MemorySpace& memory : loaded().model->resources.memories) {
    use.push_back({std::string(memory.info.name), memory.allocator->stats()});
  }
  return use;
}

std::vector<std::string> Session::providers() const {
  std::vector<std::string> names;
  for (const ProviderEntry& entry : loaded().model->resources.providers) {
    if (!entry.of_program) names.emplace_back(entry.provider->name());
  }
  return names;
}

Allocator& Session::allocator(const MemoryInfo& memory) const {
  loaded().RequireUsableAfterFork();
  const SessionResources& resources = loaded().model->resources;
  const int16_t index = resources.FindMemory(memory);
  Require(index >= 0, "the session has no memory {}", memory.name);
  return *resources.memories[static_cast<size_t>(index)].allocator;
}

void Session::Copy(const Tensor& from, Tensor& to) const {
  Require(from.type() == to.type() && from.shape() == to.shape(), "cannot copy {} {} to {} {}",
          ElementTypeName(from.type()), from.shape(), ElementTypeName(to.type()), to.shape());
  State& state = loaded();
  state.RequireUsableAfterFork();
  OnlyErrors([&] { state.model->resources.Copy(from, to); });
}

std::filesystem::path Session::EndProfiling() {
  const State& state = loaded();
  const CallersFloatMode float_mode;
  Require(state.profiler != nullptr, "the session does not profile: set profile_prefix");
  return OnlyErrors([&] { return state.profiler->Finish(); });
}

}  // namespace tessera
