#include "runtime/threads/parallel_run.h"

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <memory>

#include "base/cancellation.h"
#include "base/check.h"
#include "runtime/profile/profiler.h"
#include "runtime/step_context.h"
#include "runtime/threads/cancellable_pool.h"
#include "runtime/threads/float_mode.h"

namespace tessera {

class ParallelRun {
 public:
  ParallelRun(Executor& executor, Frame& frame, RunState& state)
      : executor_(executor),
        plan_(executor.plan()),
        frame_(frame),
        state_(state),
        waiting_(std::make_unique<std::atomic<uint32_t>[]>(plan_.steps.size())),
        readers_(std::make_unique<std::atomic<int32_t>[]>(plan_.slots.size())) {
    for (size_t i = 0; i < plan_.steps.size(); ++i)
      waiting_[i].store(plan_.steps[i].num_predecessors, std::memory_order_relaxed);
    for (size_t i = 0; i < plan_.slots.size(); ++i) readers_[i].store(plan_.readers[i], std::memory_order_relaxed);
  }

  void Run() {
    try {
      executor_.resources_.inter_op_arena->execute([&] {
        try {
          for (size_t i = 0; i < plan_.steps.size(); ++i) {
            if (plan_.steps[i].num_predecessors == 0) Start(i);
          }
        } catch (...) {  // the values are in use until all that was started has ended
          group_.cancel();
          group_.wait();
          throw;
        }
        group_.wait();
      });
      frame_.Synchronize();
      for (const SlotIndex slot : plan_.held_slots) frame_.Release(slot);
    } catch (const Error&) {
      executor_.CleanUp(frame_);
      throw;
    } catch (const std::exception& error) {  // TBB's own: a thread that it cannot start
      executor_.CleanUp(frame_);
      Fail(ErrorCode::kRuntimeException,
           "operators cannot run in parallel: {}; ask for fewer threads, or raise the limit of threads", error.what());
    }
  }

 private:
  void Start(size_t step) {
    group_.run([this, step] { RunChain(step); });
  }

  /// Runs a step, then one of those that it makes ready; the others become tasks.
  void RunChain(size_t index) {
    const FloatModeScope float_mode(float_mode_);
    const CancelScope cancel(&state_.stop);
    constexpr size_t kNoStep = static_cast<size_t>(-1);
    while (index != kNoStep) {
      if (tbb::is_current_task_group_canceling()) return;
      RunStep(index);
      const Step& step = plan_.steps[index];
      index = kNoStep;
      for (uint32_t i = 0; i < step.num_successors; ++i) {
        const auto next = static_cast<size_t>(plan_.successors[step.first_successor + i]);
        if (waiting_[next].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        if (index == kNoStep) {
          index = next;
        } else {
          Start(next);
        }
      }
    }
  }

  void RunStep(size_t index) {
    const Step& step = plan_.steps[index];
    Scratch scratch(*executor_.resources_.memories[SessionResources::kHost].allocator);
    StepContext context(frame_, state_, scratch);
    try {
      if (state_.cancelled()) ThrowCancelled(state_.stop);
      context.Begin(step);
      if (state_.profiler == nullptr) {
        step.kernel->Compute(context);
      } else {
        executor_.ComputeProfiled(step, context, state_);
      }
    } catch (...) {
      RethrowAt(*step.node, *plan_.graph, state_.cancelled() ? "" : DescribeInputs(step, frame_));
    }
    for (const SlotIndex slot : plan_.inputs_of(step)) ReleaseUse(slot);
    for (const SlotIndex slot : plan_.outputs_of(step)) {
      if (slot != kNone && plan_.readers[static_cast<size_t>(slot)] == 0) ReleaseUse(slot);
    }
  }

  void ReleaseUse(SlotIndex slot) noexcept {
    if (slot == kNone) return;
    const Slot& info = plan_.slots[static_cast<size_t>(slot)];
    if (info.source != SlotSource::kStep || info.is_output || info.hold_until >= 0) return;
    if (readers_[static_cast<size_t>(slot)].fetch_sub(1, std::memory_order_acq_rel) <= 1) frame_.Release(slot);
  }

  Executor& executor_;
  const Plan& plan_;
  Frame& frame_;
  RunState& state_;
  const FloatMode float_mode_ = CurrentFloatMode();
  tbb::task_group group_;
  std::unique_ptr<std::atomic<uint32_t>[]> waiting_;
  std::unique_ptr<std::atomic<int32_t>[]> readers_;
};

void RunParallel(Executor& executor, Frame& frame, RunState& state) { ParallelRun(executor, frame, state).Run(); }

}  // namespace tessera
