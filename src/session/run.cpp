#include <algorithm>
#include <array>

#include "base/check.h"
#include "session/session_state.h"

namespace tessera {
namespace {

/// Pointers to a run's inputs without touching the heap for usual models.
class InputPointers {
 public:
  explicit InputPointers(size_t count) : count_(count) {
    if (count > kInline) heap_.resize(count);
  }
  std::span<const Value*> values() noexcept { return {count_ > kInline ? heap_.data() : inline_.data(), count_}; }

 private:
  static constexpr size_t kInline = 64;
  size_t count_;
  std::array<const Value*, kInline> inline_{};
  std::vector<const Value*> heap_;
};

}  // namespace

RunOptions::RunOptions() : cancelled_(std::make_unique<std::atomic<bool>>(false)) {}
RunOptions::RunOptions(RunOptions&&) noexcept = default;
RunOptions::~RunOptions() = default;
void RunOptions::Cancel() noexcept { cancelled_->store(true, std::memory_order_relaxed); }
void RunOptions::ResetCancel() noexcept { cancelled_->store(false, std::memory_order_relaxed); }

void Session::State::Run(const Request& request, const RunOptions& run_options) {
  const Plan& plan = executor->plan();
  const RunScope scope(*resources.threads);
  const Executor::Lease frame(*executor);
  for (const auto& [slot, value] : plan.defaults) frame->value(slot) = value;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.inputs[i] != nullptr && plan.graph_inputs[i] != kNone) frame->value(plan.graph_inputs[i]) = *request.inputs[i];
  }
  for (size_t k = 0; k < request.wanted.size(); ++k) {
    const SlotIndex slot = plan.graph_outputs[request.wanted[k]];
    const Tensor* buffer = request.results[k].tensor_if();
    if (buffer != nullptr && buffer->defined() && plan.slots[static_cast<size_t>(slot)].source == SlotSource::kStep) {
      frame->BindResult(slot, *buffer);
    }
  }
  RunState run{.cancel = run_options.cancel_flag(), .threads = resources.threads.get(), .profiler = resources.profiler};
  executor->Run(*frame, run);
  for (size_t k = 0; k < request.wanted.size(); ++k) executor->StoreResult(*frame, request.wanted[k], request.results[k]);
}

std::vector<Value> Session::Run(std::span<const std::string> input_names, std::span<const Value> inputs,
                                std::span<const std::string> output_names, const RunOptions& options) const {
  State& state = *state_;
  Require(input_names.size() == inputs.size(), "{} input names are given for {} inputs", input_names.size(), inputs.size());
  InputPointers pointers(state.model.graph->inputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto found = state.input_position.find(input_names[i]);
    Require(found != state.input_position.end(), "the model has no input '{}'", input_names[i]);
    pointers.values()[found->second] = &inputs[i];
  }
  std::vector<size_t> wanted;
  if (output_names.empty()) {
    for (size_t i = 0; i < state.outputs.size(); ++i) wanted.push_back(i);
  }
  for (const std::string& name : output_names) {
    const auto found = state.output_position.find(name);
    Require(found != state.output_position.end(), "the model has no output '{}'", name);
    wanted.push_back(found->second);
  }
  for (const size_t position : state.required) {
    Require(pointers.values()[position] != nullptr, "input '{}' is missing",
            state.model.graph->value(state.model.graph->inputs()[position]).name);
  }
  std::vector<Value> results(wanted.size());
  state.Run({pointers.values(), wanted, results}, options);
  return results;
}

void Session::Run(std::span<const Value> inputs, std::span<Value> results, const RunOptions& options) const {
  State& state = *state_;
  Require(inputs.size() == state.inputs.size(), "the model has {} inputs, {} are given", state.inputs.size(), inputs.size());
  Require(results.size() == state.outputs.size(), "the model has {} outputs, room for {} is given", state.outputs.size(),
          results.size());
  InputPointers pointers(state.model.graph->inputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) pointers.values()[state.required[i]] = &inputs[i];
  state.Run({pointers.values(), state.all_outputs, results}, options);
}

}  // namespace tessera
