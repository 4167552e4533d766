#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "base/only_errors.h"
#include "runtime/memory/own_value.h"
#include "session/plain_bools.h"
#include "session/session_state.h"

namespace tessera {

struct IoBinding::State {
  std::shared_ptr<Session::State> session;
  std::vector<Value> inputs;        // by graph input position
  std::vector<const Value*> given;  // null: not bound
  std::vector<std::string> output_names;
  std::vector<size_t> wanted;
  std::unordered_map<size_t, size_t> places;  // among the wanted, by position
  std::vector<int16_t> memories;              // of outputs
  std::vector<Value> buffers;                 // bound by the caller; none: allocated by the run
  std::vector<Value> outputs;

  void Place(std::string_view name, int16_t memory, Value buffer);
  void Append(std::string_view name, size_t position);
};

IoBinding::IoBinding(const Session& session) : state_(std::make_unique<State>()) {
  Require(session.state() != nullptr, "a binding needs a session with a model, this one was moved from");
  OnlyErrors([&] {
    state_->session = session.state();
    state_->inputs.resize(session.state()->model->graph->inputs().size());
    state_->given.resize(state_->inputs.size());
  });
}
IoBinding::~IoBinding() = default;
IoBinding::IoBinding(IoBinding&&) noexcept = default;
IoBinding& IoBinding::operator=(IoBinding&&) noexcept = default;

IoBinding::State& IoBinding::state() const {
  Require(state_ != nullptr, "the binding was moved from: it has no session");
  return *state_;
}

void IoBinding::BindInput(std::string_view name, Value value) {
  State& bound = state();
  Session::State& session = *bound.session;
  session.RequireUsableAfterFork();
  const LoadedModel& model = *session.model;
  const size_t position = model.InputPosition(name);
  model.CheckInput(position, value);
  if (auto plain =
          OnlyErrors([&] { return WithPlainBools(value, *model.resources.memories[SessionResources::kHost].allocator); })) {
    value = *std::move(plain);
  }
  const int16_t memory = model.MemoryOfInput(position);
  const MemorySpace& space = model.resources.memories[static_cast<size_t>(memory)];
  if (const Tensor* tensor = value.tensor_if(); tensor != nullptr && tensor->memory() != space.info) {
    const bool both_on_host = tensor->memory().host_accessible && space.info.host_accessible;
    if (!both_on_host) value = OnlyErrors([&] { return CloneInMemory(*tensor, *space.allocator, model.resources); });
  }
  bound.inputs[position] = std::move(value);
  bound.given[position] = &bound.inputs[position];
}

void IoBinding::State::Place(std::string_view name, int16_t memory, Value buffer) {
  const size_t position = session->model->OutputPosition(name);
  const auto known = places.find(position);
  const size_t at = known == places.end() ? wanted.size() : known->second;
  if (at == wanted.size()) OnlyErrors([&] { Append(name, position); });
  memories[at] = memory;
  buffers[at] = std::move(buffer);
  outputs[at] = Value();
}

void IoBinding::State::Append(std::string_view name, size_t position) {
  std::string own_name(name);
  // All lists grow, or none: memory may run out meanwhile.
  const auto make_room = [](auto&... lists) {
    ((lists.size() < lists.capacity() ? void() : lists.reserve(2 * lists.size() + 1)), ...);
  };
  make_room(output_names, wanted, memories, buffers, outputs);
  places.emplace(position, wanted.size());
  output_names.push_back(std::move(own_name));
  wanted.push_back(position);
  memories.emplace_back();
  buffers.emplace_back();
  outputs.emplace_back();
}

void IoBinding::BindOutput(std::string_view name, Tensor buffer) {
  Require(buffer.defined(), "the buffer for output '{}' is not a tensor yet", name);
  const int16_t memory = buffer.memory().host_accessible ? SessionResources::kHost
                                                         : state().session->model->resources.FindMemory(buffer.memory());
  Require(memory >= 0, "the buffer for output '{}' lies in {} memory, which the session does not use", name,
          buffer.memory().name);
  state().Place(name, memory, std::move(buffer));
}

void IoBinding::BindOutput(std::string_view name, const MemoryInfo& memory) {
  const int16_t index =
      memory.host_accessible ? SessionResources::kHost : state().session->model->resources.FindMemory(memory);
  Require(index >= 0, "the session has no memory {} for output '{}'", memory.name, name);
  state().Place(name, index, Value());
}

void IoBinding::ClearInputs() {
  State& bound = state();
  std::fill(bound.inputs.begin(), bound.inputs.end(), Value());
  std::fill(bound.given.begin(), bound.given.end(), nullptr);
}

void IoBinding::ClearOutputs() {
  State& bound = state();
  bound.output_names.clear();
  bound.wanted.clear();
  bound.places.clear();
  bound.memories.clear();
  bound.buffers.clear();
  bound.outputs.clear();
}

std::span<const std::string> IoBinding::output_names() const { return state().output_names; }
std::span<const Value> IoBinding::outputs() const { return state().outputs; }
// Inputs are copied when they are bound, and a Run returns when every device queue has drained.
void IoBinding::SynchronizeInputs() {}
void IoBinding::SynchronizeOutputs() {}

void Session::Run(IoBinding& binding, const RunOptions& options) const {
  State& session = loaded();
  IoBinding::State& bound = binding.state();
  Require(bound.session == state_, "the binding belongs to another session");
  Require(!bound.wanted.empty(), "no output is bound, nothing would be computed; call BindOutput");
  for (const size_t position : session.model->required) {
    Require(bound.given[position] != nullptr, "input '{}' is not bound; call BindInput",
            session.model->graph_input(position).name);
  }
  OnlyErrors([&] {
    bound.outputs = bound.buffers;
    session.Run({bound.given, bound.wanted, bound.outputs, bound.memories}, options);
  });
}

}  // namespace tessera
