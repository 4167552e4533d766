#include <algorithm>
#include <mutex>
#include <optional>

#include "base/check.h"
#include "base/clock_range.h"
#include "base/held_bytes.h"
#include "base/only_errors.h"
#include "base/small_array.h"
#include "base/stoppable_lock.h"
#include "runtime/memory/own_value.h"
#include "runtime/plan/stand_in.h"
#include "runtime/threads/cancellable_pool.h"
#include "runtime/threads/float_mode.h"
#include "session/model_nodes.h"
#include "session/plain_bools.h"
#include "session/recorded_runs.h"
#include "session/result_buffers.h"
#include "session/session_state.h"

namespace tessera {

RunOptions::RunOptions(RunOptions&& other) noexcept
    : tag(std::move(other.tag)),
      log_level(other.log_level),
      profile_prefix(std::move(other.profile_prefix)),
      shrink_arenas(other.shrink_arenas),
      timeout(other.timeout),
      recording(other.recording),
      cancelled_(other.cancelled()) {}
void RunOptions::Cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
void RunOptions::ResetCancel() noexcept { cancelled_.store(false, std::memory_order_relaxed); }

namespace {

/// Puts an input where its readers look for it. Device tensors stay where they are as far as they are read there.
void SetInput(Frame& frame, size_t position, const Value& value) {
  const Plan& plan = frame.plan();
  const SlotIndex slot = plan.graph_inputs[position];
  if (slot == kNone) return;
  const Tensor* tensor = value.tensor_if();
  if (tensor == nullptr || tensor->memory().host_accessible) {
    frame.value(slot) = value;
    return;
  }
  const SessionResources& resources = frame.resources();
  const int16_t memory = resources.FindMemory(tensor->memory());
  Require(memory >= 0, "input '{}' lies in {} memory, which the session does not use",
          plan.slots[static_cast<size_t>(slot)].name, tensor->memory().name);
  bool host = plan.host_reads_input[position];
  for (const Plan::BorderCopy& copy : Plan::CopiesOf(plan.input_copies, position)) {
    if (plan.slots[static_cast<size_t>(copy.device)].memory == memory) {
      frame.SkipStep(static_cast<size_t>(copy.step));
      frame.value(copy.device) = value;
    } else {
      host = true;
    }
  }
  if (host) frame.value(slot) = CloneInMemory(*tensor, *resources.memories[SessionResources::kHost].allocator, resources);
}

/// The caller's host buffer for an output as the slot's place on the device, where kernels can write to it without a copy.
SlotIndex ShareResult(Frame& frame, size_t output, const Tensor& buffer) {
  const Plan& plan = frame.plan();
  const SlotIndex host = plan.graph_outputs[output];
  for (const Plan::BorderCopy& copy : Plan::CopiesOf(plan.output_copies, output)) {
    const Slot& slot = plan.slots[static_cast<size_t>(copy.device)];
    MemorySharing* const sharing = frame.resources().SharingOf(slot.memory);
    if (sharing == nullptr || slot.source != SlotSource::kStep) continue;
    if (std::count(plan.graph_outputs.begin(), plan.graph_outputs.end(), host) > 1) continue;
    const std::optional<Tensor> view = sharing->OnDevice(buffer, true);
    if (!view) continue;
    frame.SkipStep(static_cast<size_t>(copy.step));
    frame.BindResult(copy.device, *view);
    return copy.device;
  }
  return kNone;
}

/// The slot that a result is taken from: on the device where it was asked for there.
SlotIndex ResultSlot(Frame& frame, size_t output, int16_t memory) {
  const Plan& plan = frame.plan();
  if (memory != SessionResources::kHost) {
    for (const Plan::BorderCopy& copy : Plan::CopiesOf(plan.output_copies, output)) {
      if (plan.slots[static_cast<size_t>(copy.device)].memory != memory) continue;
      frame.SkipStep(static_cast<size_t>(copy.step));
      return copy.device;
    }
  }
  return plan.graph_outputs[output];
}

/// The slot that the run leaves wanted output `k` in; a buffer that the caller gives for it takes the slot's place where it
/// can.
SlotIndex BindResult(const LoadedModel& model, Frame& frame, const Session::State::Request& request, size_t k) {
  const size_t output = request.wanted[k];
  const Tensor* buffer = request.results[k].tensor_if();
  const bool given = buffer != nullptr && buffer->defined();
  int16_t memory = request.memories.empty() ? SessionResources::kHost : request.memories[k];
  if (given) {
    memory = buffer->memory().host_accessible ? SessionResources::kHost : model.resources.FindMemory(buffer->memory());
    Require(memory >= 0, "the buffer for output '{}' lies in {} memory, which the session does not use",
            model.outputs[output].name, buffer->memory().name);
  }
  if (given && memory == SessionResources::kHost) {
    if (const SlotIndex shared = ShareResult(frame, output, *buffer); shared != kNone) return shared;
  }
  const SlotIndex slot = ResultSlot(frame, output, memory);
  const Slot& info = frame.plan().slots[static_cast<size_t>(slot)];
  if (given && info.source == SlotSource::kStep && info.memory == memory) frame.BindResult(slot, *buffer);
  return slot;
}

/// While a run is under way, what it was given counts for the limit of memory where that follows it.
class Allowance {
 public:
  Allowance(const Session::State& session, std::span<const Value* const> inputs)
      : budget_(session.config.run_memory_limit == kAutomaticLimit ? session.model->run_memory.get() : nullptr) {
    if (budget_ == nullptr) return;
    for (const Value* input : inputs) {
      if (input != nullptr) bytes_ += static_cast<int64_t>(std::min(HeldBytes(*input), kMostInputBytes));
    }
    budget_->Extend(bytes_ * Session::State::kRunTimesGiven);
  }
  ~Allowance() {
    if (budget_ != nullptr) budget_->Extend(-bytes_ * Session::State::kRunTimesGiven);
  }
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;

 private:
  static constexpr size_t kMostInputBytes = size_t{1} << 40;

  MemoryBudget* const budget_;
  int64_t bytes_ = 0;
};

/// Gives idle memory back after a run that asks for it, also one that fails.
class ShrinkAfter {
 public:
  ShrinkAfter(const LoadedModel& model, const RunOptions& options) : model_(options.shrink_arenas ? &model : nullptr) {}
  ~ShrinkAfter() {
    if (model_ != nullptr) model_->Shrink();
  }
  ShrinkAfter(const ShrinkAfter&) = delete;
  ShrinkAfter& operator=(const ShrinkAfter&) = delete;

 private:
  const LoadedModel* const model_;
};

/// Tells the providers that ask of a run's start and end.
class WatchedRun {
 public:
  WatchedRun(std::span<ExecutionProvider* const> providers, const RunOptions& options) noexcept
      : providers_(providers), options_(options) {}
  ~WatchedRun() {
    while (told_ > 0) {
      try {
        End();
      } catch (...) {  // of a run that has failed already
      }
    }
  }
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;

  void Start() {
    for (; told_ < providers_.size(); ++told_) providers_[told_]->OnRunStart(options_);
  }
  void End() {
    while (told_ > 0) providers_[--told_]->OnRunEnd(options_, true);
  }

 private:
  const std::span<ExecutionProvider* const> providers_;
  const RunOptions& options_;
  size_t told_ = 0;
};

}  // namespace

void Session::State::Run(const Request& request, const RunOptions& run_options) {
  Require(run_options.timeout.count() >= 0, "RunOptions::timeout is {} ms, expected 0 for no limit or more",
          run_options.timeout.count());
  Run(request, run_options, StopSignal(run_options.cancel_flag(), InClockRange(run_options.timeout)));
}

void Session::State::Run(const Request& request, const RunOptions& run_options, const StopSignal& stop) {
  RequireUsableAfterFork();
  if (!model->openmp_threads) return RunHere(request, run_options, stop);
  const InsideLibrary inside(ForeignThreads::kOneDnn);
  RunOffForkedThread([&] { RunHere(request, run_options, stop); });
}

std::unique_ptr<Profiler> Session::State::ProfilerOfRun(const RunOptions& run_options) const {
  auto own = std::make_unique<Profiler>(run_options.profile_prefix);
  own->NameModelNodes(NamesForProfile(model->placement));
  model->StartProviders(*own);
  return own;
}

void Session::State::RunHere(const Request& request, const RunOptions& run_options, const StopSignal& stop) {
  if (recorded == nullptr) [[likely]]
    return RunOnce(request, run_options, stop);
  recorded->Run(request, run_options.recording, stop, [&] { RunOnce(request, run_options, stop); });
}

void Session::State::RunOnce(const Request& request, const RunOptions& run_options, const StopSignal& stop) {
  const CallersFloatMode float_mode(config.denormal_as_zero ? WithoutDenormals(kPlainFloatMode) : kPlainFloatMode);
  const SessionResources& resources = model->resources;
  const ShrinkAfter shrink(*model, run_options);
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.inputs[i] != nullptr) model->CheckInput(i, *request.inputs[i]);
  }
  const auto start = run_options.log_level == LogLevel::kVerbose ? Profiler::Clock::now() : Profiler::Clock::time_point();
  const Allowance allowance(*this, request.inputs);
  Executor& executor = *model->executor;
  const Plan& plan = executor.plan();
  const std::unique_ptr<Profiler> own = run_options.profile_prefix.empty() ? nullptr : ProfilerOfRun(run_options);
  Profiler* const recorder = own != nullptr ? own.get() : profiler.get();
  const ProfileScope profile(recorder, "run", "Session");
  const RunScope scope(*resources.threads);
  const auto alone =
      one_at_a_time == nullptr ? std::unique_lock<std::timed_mutex>() : LockUnlessStopped(*one_at_a_time, stop);
  WatchedRun watched(model->watch_runs, run_options);
  watched.Start();
  const CancelScope cancel_scope(&stop);
  const Executor::Lease frame(executor);
  for (const auto& [slot, value] : plan.defaults) frame->value(slot) = value;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.inputs[i] == nullptr) continue;
    const auto plain = WithPlainBools(*request.inputs[i], *resources.memories[SessionResources::kHost].allocator);
    SetInput(*frame, i, plain ? *plain : *request.inputs[i]);
  }
  SmallArray<SlotIndex> slots(request.wanted.size());
  for (size_t k = 0; k < request.wanted.size(); ++k) slots.values()[k] = BindResult(*model, *frame, request, k);
  CheckResultBuffers(*model, request, slots.values());
  CancellablePool threads(*resources.threads, stop);
  const bool profiling = recorder != nullptr && recorder->recording();
  RunState run{.stop = stop, .threads = &threads, .profiler = profiling ? recorder : nullptr};
  executor.Run(*frame, run);
  watched.End();
  for (size_t k = 0; k < request.wanted.size(); ++k) {
    const SlotIndex slot = slots.values()[k];
    const Tensor* computed = frame->value(slot).tensor_if();
    const Tensor* buffer = request.results[k].tensor_if();
    if (computed != nullptr && buffer != nullptr && computed->raw() == buffer->raw() &&
        computed->memory() != buffer->memory()) {
      resources.SharingOf(plan.slots[static_cast<size_t>(slot)].memory)->Written(*computed);
    } else {
      executor.StoreResult(*frame, slot, request.results[k]);
    }
  }
  for (size_t k = 0; k < request.memories.size(); ++k) {
    Tensor* tensor = request.results[k].tensor_if();
    if (tensor == nullptr) continue;
    const MemorySpace& asked = resources.memories[static_cast<size_t>(request.memories[k])];
    if (asked.info == tensor->memory() || (asked.info.host_accessible && tensor->memory().host_accessible)) continue;
    *tensor = CloneInMemory(*tensor, *asked.allocator, resources);
  }
  if (run_options.log_level == LogLevel::kVerbose) [[unlikely]] {
    const std::chrono::duration<double, std::milli> took = Profiler::Clock::now() - start;
    log.Write(LogLevel::kVerbose,
              fmt::format("run{}{} took {:.3f} ms", run_options.tag.empty() ? "" : " ", run_options.tag, took.count()));
  }
}

std::vector<Value> Session::Run(std::span<const std::string> input_names, std::span<const Value> inputs,
                                std::span<const std::string> output_names, const RunOptions& options) const {
  return OnlyErrors([&] { return loaded().RunByName(input_names, inputs, output_names, options); });
}

std::vector<Value> Session::State::RunByName(std::span<const std::string> input_names, std::span<const Value> inputs,
                                             std::span<const std::string> output_names, const RunOptions& run_options) {
  Require(input_names.size() == inputs.size(), "{} input names are given for {} inputs", input_names.size(), inputs.size());
  SmallArray<const Value*> pointers(model->graph->inputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value*& pointer = pointers.values()[model->InputPosition(input_names[i])];
    Require(pointer == nullptr, "input '{}' is given twice; give it once", input_names[i]);
    pointer = &inputs[i];
  }
  std::vector<size_t> wanted;
  if (output_names.empty()) wanted = model->all_outputs;
  std::vector<bool> asked(output_names.empty() ? 0 : model->outputs.size());
  for (const std::string& name : output_names) {
    wanted.push_back(model->OutputPosition(name));
    Require(!asked[wanted.back()], "output '{}' is asked for twice; ask once", name);
    asked[wanted.back()] = true;
  }
  for (const size_t position : model->required) {
    const GraphValue& input = model->graph_input(position);
    if (pointers.values()[position] != nullptr) continue;
    Fail(ErrorCode::kInvalidArgument, "input '{}' is missing: give {}{}", input.name, input.type.ToString(),
         input.type.shape ? fmt::format(" {}", ToString(*input.type.shape)) : "");
  }
  std::vector<Value> results(wanted.size());
  Run({pointers.values(), wanted, results, {}}, run_options);
  return results;
}

void Session::Run(std::span<const Value> inputs, std::span<Value> results, const RunOptions& options) const {
  State& state = loaded();
  const LoadedModel& model = *state.model;
  Require(inputs.size() == model.inputs.size(), "the model has {} inputs, {} are given", model.inputs.size(),
          inputs.size());
  Require(results.size() == model.outputs.size(), "the model has {} outputs, room for {} is given", model.outputs.size(),
          results.size());
  OnlyErrors([&] {
    SmallArray<const Value*> pointers(model.graph->inputs().size());
    for (size_t i = 0; i < inputs.size(); ++i) pointers.values()[model.required[i]] = &inputs[i];
    state.Run({pointers.values(), model.all_outputs, results, {}}, options);
  });
}

}  // namespace tessera
