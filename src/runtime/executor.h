#pragma once

// Runs a plan. Re-entrant: every run takes a frame of its own from the pool.

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/fork.h"
#include "runtime/frame.h"
#include "runtime/memory/arena.h"
#include "runtime/plan/plan.h"

namespace tessera {

class StepContext;

class Executor final : public IdleMemory {
 public:
  Executor(std::unique_ptr<Plan> plan, const SessionResources& resources, bool nested);
  ~Executor() override;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const Plan& plan() const noexcept { return *plan_; }

  /// A frame, taken for one run. Its destructor gives it back clean.
  class Lease {
   public:
    explicit Lease(Executor& executor) : executor_(executor), frame_(executor.TakeFrame()) {}
    ~Lease() { executor_.GiveBack(std::move(frame_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Frame& operator*() const noexcept { return *frame_; }
    Frame* operator->() const noexcept { return frame_.get(); }

   private:
    Executor& executor_;
    std::unique_ptr<Frame> frame_;
  };

  /// Runs with inputs (and captures) set in the frame and results bound or not; afterwards outputs are in their slots.
  void Run(Frame& frame, RunState& state);

  /// The result in an output's slot, as a value that owns its buffer and shares it with nobody.
  Value TakeResult(Frame& frame, SlotIndex slot);

  /// Puts it into `result`: into the tensor there, when one is.
  void StoreResult(Frame& frame, SlotIndex slot, Value& result);

  /// Gives the memory of idle frames back: when asked to, and when an arena that this session takes part in runs out.
  void ReleaseIdle() noexcept override;

  const SessionResources& resources() const noexcept { return resources_; }

  /// Frames that runs have now.
  size_t leased() const {
    const std::lock_guard lock(mutex_);
    return num_frames_ - idle_.size();
  }

 private:
  friend class ParallelRun;
  std::unique_ptr<Frame> TakeFrame();
  void GiveBack(std::unique_ptr<Frame> frame) noexcept;
  void RunSteps(Frame& frame, RunState& state);
  static void SynchronizeBefore(const Step& step, Frame& frame);
  void ComputeProfiled(const Step& step, StepContext& context, const RunState& state) const;
  void CleanUp(Frame& frame) noexcept;
  /// Runs with the memory plan for the frame's input shapes, or learns one.
  void RunPlanned(Frame& frame, RunState& state);

  const std::unique_ptr<Plan> plan_;
  const SessionResources& resources_;
  const bool nested_;
  mutable ForkMutex mutex_;
  std::vector<std::unique_ptr<Frame>> idle_;  // has room for all that exist: giving back never allocates
  size_t num_frames_ = 0;                     // idle or at work
  ShapePlans shape_plans_;
  std::vector<bool> addressable_;  // by memory
  std::vector<Arena::Registration> registrations_;
  mutable std::once_flag viewer_made_;
  mutable std::unique_ptr<const GraphViewer> viewer_;  // for profiles; made by the first run that has one
};

}  // namespace tessera
