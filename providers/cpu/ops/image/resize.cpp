// Resize (ai.onnx 10, 11, 13, 18, 19) and Upsample (1, 7, 9, 10).

#include "base/cancellable_memory.h"
#include "base/string_memory.h"
#include "cpu/ops/image/resample.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/image/resize_planner.h"

namespace tessera::cpu {
namespace {

/// Fills the output from `input` as the plan says.
void Resample(KernelContext& context, const ResamplePlan& plan, const Tensor& input, Tensor& output) {
  if (plan.empty) return;
  if (plan.identity) {
    if (input.is(ElementType::kString)) {
      CopyStrings(input.values<std::string>(), output, 0, context.allocator());
    } else {
      CopyBytesCancellably(output.mutable_raw(), input.raw(), input.byte_size());
    }
  } else if (plan.options.mode == ResampleMode::kNearest) {
    ResampleNearest(context, plan, input, output);
  } else {
    ResampleWeighted(context, plan, input, output);
  }
}

class Resize final : public Kernel {
 public:
  explicit Resize(const KernelInfo& info) : planner_(info) {}
  void Compute(KernelContext& context) override {
    const auto [plan, output] = planner_.Plan(context);
    if (output != nullptr) Resample(context, *plan, context.required_input(0), *output);
  }

 private:
  ResizePlanner planner_;
};

constexpr TypeSet kResizable =
    kNumbers | TypeSet{ElementType::kBool, ElementType::kString, ElementType::kComplex64, ElementType::kComplex128};

}  // namespace

void RegisterResize(KernelRegistry& registry) {
  registry.Add(Op("Resize").Versions(10).Types(0, kResizable).Make<Resize>());
}

void RegisterUpsample(KernelRegistry& registry) {
  registry.Add(Op("Upsample").Versions(1).Types(0, kResizable).Make<Resize>());
}

}  // namespace tessera::cpu
