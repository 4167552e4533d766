// Runs by name.

#include <algorithm>
#include <cstring>

#include "base/small_array.h"
#include "bindings/c/async_runs.h"
#include "bindings/c/entry.h"
#include "bindings/c/lora.h"
#include "bindings/c/run_options.h"
#include "bindings/c/session.h"
#include "bindings/c/value.h"
#include "session/session_state.h"

namespace tessera::c_abi {
namespace {

/// The position of a run's k-th input among the graph's. Most clients name them in the model's order.
size_t InputAt(const LoadedModel& model, size_t k, const char* name) {
  const std::string_view given = &Given(name, "the name of an input");
  if (k < model.inputs.size() && model.inputs[k].name == given) return model.required[k];
  return model.InputPosition(given);
}

size_t OutputAt(const LoadedModel& model, size_t k, const char* name) {
  const std::string_view given = &Given(name, "the name of an output");
  if (k < model.outputs.size() && model.outputs[k].name == given) return k;
  return model.OutputPosition(given);
}

/// Throws where an input is missing that something in the model reads.
void RequireInputs(const LoadedModel& model, std::span<const Value* const> given) {
  for (const size_t position : model.required) {
    if (given[position] != nullptr || model.executor->plan().graph_inputs[position] == kNone) continue;
    const GraphValue& input = model.graph_input(position);
    Fail(ErrorCode::kFail, "input '{}' is missing: give {}{}", input.name, input.type.ToString(),
         input.type.shape ? fmt::format(" {}", ToString(*input.type.shape)) : "");
  }
}

/// An output that was named before: the same elements in the client's buffer, or another handle on them.
void Repeat(const Value& result, OrtValue*& output) {
  const Tensor* from = result.tensor_if();
  Tensor* to = output == nullptr ? nullptr : output->tensor_if();
  if (to == nullptr) {
    output = new OrtValue(result);
    return;
  }
  Require(from != nullptr && from->type() == to->type() && from->shape() == to->shape(),
          "the second buffer of an output has another type or shape than the result");
  if (to->is(ElementType::kString)) {
    std::ranges::copy(from->values<std::string>(), to->mutable_data<std::string>());
  } else if (to->byte_size() > 0) {
    std::memcpy(to->mutable_raw(), from->raw(), to->byte_size());
  }
}

/// The outputs of a run: each once for the session, in the order in which they are named first.
class Outputs {
 public:
  Outputs(const LoadedModel& model, const char* const* names, size_t count, OrtValue** outputs)
      : outputs_(outputs), index_(count), wanted_(count), results_(count) {
    SmallArray<size_t> known(count > 1 ? model.outputs.size() : 1);  // 1 + index by position; 0: not named yet
    for (size_t k = 0; k < count; ++k) {
      const size_t position = OutputAt(model, k, names[k]);
      size_t& index = known[count > 1 ? position : 0];
      const bool named_before = index != 0;
      if (!named_before) index = unique_ + 1;
      index_[k] = index - 1;
      if (named_before) continue;
      if (outputs[k] != nullptr) results_[unique_] = *outputs[k];
      wanted_[unique_++] = position;
    }
  }

  std::span<const size_t> wanted() noexcept { return wanted_.values().first(unique_); }
  std::span<Value> results() noexcept { return results_.values().first(unique_); }

  /// Hands them to the client; where memory runs out, those before that stay with it.
  void Deliver() {
    size_t seen = 0;
    for (size_t k = 0; k < index_.size(); ++k) {
      Value& result = results_[index_[k]];
      if (index_[k] < seen) {
        Repeat(result, outputs_[k]);
        continue;
      }
      ++seen;
      if (outputs_[k] == nullptr) {
        outputs_[k] = new OrtValue(result);
      } else if (const Tensor* buffer = outputs_[k]->tensor_if(); buffer == nullptr || !buffer->defined()) {
        static_cast<Value&>(*outputs_[k]) = result;
      }
    }
  }

 private:
  OrtValue** outputs_;
  size_t unique_ = 0;
  SmallArray<size_t> index_, wanted_;
  SmallArray<Value> results_;
};

}  // namespace

void RunByNames(OrtSession& session, const OrtRunOptions* options, const char* const* input_names,
                const OrtValue* const* inputs, size_t num_inputs, const char* const* output_names, size_t num_outputs,
                OrtValue** outputs) {
  Session::State& state = *session.loaded().state();
  Require(num_inputs == 0 || (input_names != nullptr && inputs != nullptr), "{} inputs are null; give names and values",
          num_inputs);
  Require(num_outputs > 0 && output_names != nullptr && outputs != nullptr,
          "no output is asked for; name at least one and give room for it");
  const LoadedModel& model = *state.model;
  const RunOptions& core = CoreOf(options);
  SmallArray<const Value*> given(model.graph->inputs().size());
  for (size_t k = 0; k < num_inputs; ++k) {
    // Of one that is given twice, the last one counts.
    given[InputAt(model, k, input_names[k])] = &Given(inputs[k], "the value of an input");
  }
  if (options != nullptr && !options->adapters.empty()) [[unlikely]]
    LayOver(options->adapters, model, given.values());
  RequireInputs(model, given.values());
  Outputs wanted(model, output_names, num_outputs, outputs);
  state.Run({given.values(), wanted.wanted(), wanted.results(), {}}, core);
  wanted.Deliver();
}

OrtStatusPtr Run(OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names,
                 const OrtValue* const* inputs, size_t input_len, const char* const* output_names, size_t output_names_len,
                 OrtValue** outputs) noexcept {
  return Guarded([&] {
    RunByNames(Given(session, "the session"), run_options, input_names, inputs, input_len, output_names, output_names_len,
               outputs);
  });
}

OrtStatusPtr RunAsync(OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names,
                      const OrtValue* const* input, size_t input_len, const char* const* output_names,
                      size_t output_names_len, OrtValue** output, RunAsyncCallbackFn run_async_callback,
                      void* user_data) noexcept {
  return Guarded([&] {
    OrtSession& given = Given(session, "the session");
    Require(run_async_callback != nullptr, "the callback is null; give a function");
    Require(given.loaded().state()->model->resources.threads->num_threads() > 1,
            "the session has one intra-op thread, the caller's; RunAsync needs two or more");
    given.async->Add([=, &given] {
      OrtStatusPtr status = Guarded(
          [&] { RunByNames(given, run_options, input_names, input, input_len, output_names, output_names_len, output); });
      const bool failed = status != nullptr;
      run_async_callback(user_data, failed ? nullptr : output, failed ? 0 : output_names_len, status);
    });
  });
}

}  // namespace tessera::c_abi
