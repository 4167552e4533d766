#pragma once

// How Resize (ai.onnx 10, 11, 13, 18, 19) and Upsample (1, 7, 9, 10) come to a plan of resampling: attributes, read once,
// and the scales, sizes and region of each run.

#include <mutex>

#include "ops/image/resample_plan.h"

namespace tessera {

class ResizePlanner {
 public:
  explicit ResizePlanner(const KernelInfo& info);

  struct Planned {
    std::shared_ptr<const ResamplePlan> plan;
    Tensor* output;  // null where it is omitted
  };
  /// For input 0, from scales, sizes and roi in host memory. Makes output 0.
  Planned Plan(KernelContext& context);

 private:
  /// Plans depend on the shape and on a few numbers: the last one is kept for the runs that ask for the same.
  class PlanCache {
   public:
    template <class Make>
    std::shared_ptr<const ResamplePlan> Get(const Shape& shape, std::span<const double> numbers, Make make);

   private:
    std::mutex mutex_;
    Shape shape_;
    std::vector<double> numbers_;
    std::shared_ptr<const ResamplePlan> plan_;
  };

  std::shared_ptr<const ResamplePlan> PlanResize(KernelContext& context, FunctionRef<void(const Shape&)> reserve);
  std::shared_ptr<const ResamplePlan> PlanUpsample(KernelContext& context, FunctionRef<void(const Shape&)> reserve);
  std::shared_ptr<const ResamplePlan> MakePlan(const Shape& shape, std::span<const double> numbers, size_t count,
                                               bool scales, FunctionRef<void(const Shape&)> reserve,
                                               Allocator& memory) const;
  /// What the tables of a plan count against: the run's host memory, the session's where the run's is a device's.
  Allocator& TableMemory(const KernelContext& context) const noexcept {
    return context.allocator().memory().device == DeviceType::kCpu ? context.allocator() : session_memory_;
  }
  void KeepAspect(const Shape& shape, std::span<const size_t> axes, std::span<AxisRequest> requests) const;

  const ResizeAttributes attributes_;
  Allocator& session_memory_;
  PlanCache cache_;
};

}  // namespace tessera
