#include "session/recorded_runs.h"

#include <algorithm>

#include "base/check.h"
#include "base/stoppable_lock.h"
#include "runtime/plan/copy_kernel.h"

namespace tessera {
namespace {

constexpr int kMostRuns = 8;  // providers run once or twice before they record, as memory settles

/// False where some of them are not given: results get other memory each time then.
bool TakeBuffers(const Session::State::Request& request, std::vector<const void*>& buffers) {
  buffers.clear();
  const auto add = [&](const Value* value) {
    const Tensor* tensor = value == nullptr ? nullptr : value->tensor_if();
    if (tensor == nullptr || !tensor->defined()) return false;
    buffers.push_back(tensor->raw());
    return true;
  };
  for (const Value* input : request.inputs) {
    if (input != nullptr && !add(input)) return false;
  }
  return std::ranges::all_of(request.results, [&](const Value& result) { return add(&result); }) && !buffers.empty();
}

}  // namespace

void RequireRecordable(const Plan& plan, const SessionResources& resources, const ExecutionProvider& provider) {
  const bool beside = provider.RecordsRuns() == ExecutionProvider::Recording::kAllButShapes;
  for (const Step& step : plan.steps) {
    const ExecutionProvider& other = *resources.providers[static_cast<size_t>(step.provider)].provider;
    const bool copies = dynamic_cast<const CopyKernel*>(step.kernel) != nullptr;
    if (!copies && (&other == &provider || (beside && other.memory().host_accessible))) continue;
    Fail(ErrorCode::kFail,
         "{} is to record whole runs and replay them, but {} runs on {}: unset its option for that, or have it run the "
         "whole model",
         provider.name(), step.node->Label(), other.name());
  }
}

void RecordedRuns::Run(const Session::State::Request& request, int number, const StopSignal& stop,
                       const std::function<void()>& once) {
  const auto lock = LockUnlessStopped(mutex_, stop);
  if (number < 0 || !TakeBuffers(request, given_)) return once();
  if (provider_.HasRecorded(number)) {
    const auto recorded = buffers_.find(number);
    if (recorded == buffers_.end() || recorded->second != given_) return once();
    return provider_.Replay(number);
  }
  for (int i = 0; i < kMostRuns && !provider_.HasRecorded(number); ++i) once();
  if (provider_.HasRecorded(number)) buffers_.insert_or_assign(number, given_);
}

void RecordedRuns::Forget(int number) {
  const std::lock_guard lock(mutex_);
  buffers_.erase(number);
  provider_.ForgetRecording(number);
}

}  // namespace tessera
