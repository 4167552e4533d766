#include <algorithm>

#include "base/check.h"
#include "runtime/own_value.h"
#include "session/session_state.h"

namespace tessera {

struct IoBinding::State {
  std::shared_ptr<Session::State> session;
  std::vector<Value> inputs;            // by graph input position
  std::vector<const Value*> given;      // null: not bound
  std::vector<std::string> output_names;
  std::vector<size_t> wanted;
  std::vector<int16_t> memories;        // of outputs
  std::vector<Value> buffers;           // bound by the caller; none: allocated by the run
  std::vector<Value> outputs;

  size_t Place(std::string_view name, int16_t memory, Value buffer);
};

IoBinding::IoBinding(const Session& session) : state_(std::make_unique<State>()) {
  state_->session = session.state();
  state_->inputs.resize(session.state()->model.graph->inputs().size());
  state_->given.resize(state_->inputs.size());
}
IoBinding::~IoBinding() = default;
IoBinding::IoBinding(IoBinding&&) noexcept = default;

void IoBinding::BindInput(std::string_view name, Value value) {
  const Session::State& session = *state_->session;
  const size_t position = session.InputPosition(name);
  session.CheckInput(position, value);
  const int16_t memory = session.MemoryOfInput(position);
  const MemorySpace& space = session.resources.memories[static_cast<size_t>(memory)];
  if (const Tensor* tensor = value.tensor_if(); tensor != nullptr && tensor->memory() != space.info) {
    const bool both_on_host = tensor->memory().host_accessible && space.info.host_accessible;
    if (!both_on_host) value = CloneInMemory(*tensor, *space.allocator, session.resources);
  }
  state_->inputs[position] = std::move(value);
  state_->given[position] = &state_->inputs[position];
}

size_t IoBinding::State::Place(std::string_view name, int16_t memory, Value buffer) {
  const size_t position = session->OutputPosition(name);
  const auto at = static_cast<size_t>(std::find(wanted.begin(), wanted.end(), position) - wanted.begin());
  if (at == wanted.size()) {
    output_names.emplace_back(name);
    wanted.push_back(position);
    memories.emplace_back();
    buffers.emplace_back();
    outputs.emplace_back();
  }
  memories[at] = memory;
  buffers[at] = std::move(buffer);
  outputs[at] = Value();
  return at;
}

void IoBinding::BindOutput(std::string_view name, Tensor buffer) {
  Require(buffer.defined(), "the buffer for output '{}' is not a tensor yet", name);
  const int16_t memory = buffer.memory().host_accessible ? SessionResources::kHost
                                                         : state_->session->resources.FindMemory(buffer.memory());
  Require(memory >= 0, "the buffer for output '{}' lies in {} memory, which the session does not use", name,
          buffer.memory().name);
  state_->Place(name, memory, std::move(buffer));
}

void IoBinding::BindOutput(std::string_view name, const MemoryInfo& memory) {
  const int16_t index = memory.host_accessible ? SessionResources::kHost : state_->session->resources.FindMemory(memory);
  Require(index >= 0, "the session has no memory {} for output '{}'", memory.name, name);
  state_->Place(name, index, Value());
}

void IoBinding::ClearInputs() noexcept {
  std::fill(state_->inputs.begin(), state_->inputs.end(), Value());
  std::fill(state_->given.begin(), state_->given.end(), nullptr);
}

void IoBinding::ClearOutputs() noexcept {
  state_->output_names.clear();
  state_->wanted.clear();
  state_->memories.clear();
  state_->buffers.clear();
  state_->outputs.clear();
}

std::span<const std::string> IoBinding::output_names() const noexcept { return state_->output_names; }
std::span<const Value> IoBinding::outputs() const noexcept { return state_->outputs; }
// Inputs are copied when they are bound, and a Run returns when every device queue has drained.
void IoBinding::SynchronizeInputs() {}
void IoBinding::SynchronizeOutputs() {}

void Session::Run(IoBinding& binding, const RunOptions& options) const {
  IoBinding::State& bound = binding.state();
  Require(bound.session == state_, "the binding belongs to another session");
  Require(!bound.wanted.empty(), "no output is bound, nothing would be computed; call BindOutput");
  for (const size_t position : state_->required) {
    Require(bound.given[position] != nullptr, "input '{}' is not bound; call BindInput", state_->graph_input(position).name);
  }
  bound.outputs = bound.buffers;
  state_->Run({bound.given, bound.wanted, bound.outputs, bound.memories}, options);
}

}  // namespace tessera
