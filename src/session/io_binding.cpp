#include <algorithm>

#include "base/check.h"
#include "session/session_state.h"

namespace tessera {

struct IoBinding::State {
  std::shared_ptr<Session::State> session;
  std::vector<Value> inputs;            // by graph input position
  std::vector<const Value*> given;      // null: not bound
  std::vector<std::string> output_names;
  std::vector<size_t> wanted;
  std::vector<Value> buffers;           // bound by the caller; none: allocated by the run
  std::vector<Value> outputs;
};

IoBinding::IoBinding(const Session& session) : state_(std::make_unique<State>()) {
  state_->session = session.state();
  state_->inputs.resize(session.state()->model.graph->inputs().size());
  state_->given.resize(state_->inputs.size());
}
IoBinding::~IoBinding() = default;
IoBinding::IoBinding(IoBinding&&) noexcept = default;

void IoBinding::BindInput(std::string_view name, Value value) {
  const auto found = state_->session->input_position.find(std::string(name));
  Require(found != state_->session->input_position.end(), "the model has no input '{}'", name);
  state_->inputs[found->second] = std::move(value);
  state_->given[found->second] = &state_->inputs[found->second];
}

void IoBinding::BindOutput(std::string_view name, Tensor buffer) {
  BindOutput(name, MemoryInfo{});
  const auto at = std::find(state_->output_names.begin(), state_->output_names.end(), name) - state_->output_names.begin();
  state_->buffers[static_cast<size_t>(at)] = std::move(buffer);
}

void IoBinding::BindOutput(std::string_view name, const MemoryInfo&) {
  const auto found = state_->session->output_position.find(std::string(name));
  Require(found != state_->session->output_position.end(), "the model has no output '{}'", name);
  const auto at = std::find(state_->output_names.begin(), state_->output_names.end(), name) - state_->output_names.begin();
  if (static_cast<size_t>(at) == state_->output_names.size()) {
    state_->output_names.emplace_back(name);
    state_->wanted.push_back(found->second);
    state_->buffers.emplace_back();
    state_->outputs.emplace_back();
  }
  state_->buffers[static_cast<size_t>(at)] = Value();
}

void IoBinding::ClearInputs() noexcept {
  std::fill(state_->inputs.begin(), state_->inputs.end(), Value());
  std::fill(state_->given.begin(), state_->given.end(), nullptr);
}

void IoBinding::ClearOutputs() noexcept {
  state_->output_names.clear();
  state_->wanted.clear();
  state_->buffers.clear();
  state_->outputs.clear();
}

std::span<const std::string> IoBinding::output_names() const noexcept { return state_->output_names; }
std::span<const Value> IoBinding::outputs() const noexcept { return state_->outputs; }
void IoBinding::SynchronizeInputs() {}
void IoBinding::SynchronizeOutputs() {}

void Session::Run(IoBinding& binding, const RunOptions& options) const {
  IoBinding::State& bound = binding.state();
  Require(bound.session == state_, "the binding belongs to another session");
  for (const size_t position : state_->required) {
    Require(bound.given[position] != nullptr, "input '{}' is not bound",
            state_->model.graph->value(state_->model.graph->inputs()[position]).name);
  }
  bound.outputs = bound.buffers;
  state_->Run({bound.given, bound.wanted, bound.outputs}, options);
}

}  // namespace tessera
