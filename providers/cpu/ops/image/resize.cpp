// Resize (ai.onnx 10, 11, 13, 18, 19) and Upsample (1, 7, 9, 10).

#include "cpu/ops/image/resize_planner.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

class Resize final : public Kernel {
 public:
  explicit Resize(const KernelInfo& info) : planner_(info) {}
  void Compute(KernelContext& context) override {
    const auto [plan, output] = planner_.Plan(context);
    if (output != nullptr) RunResample(context, *plan, context.required_input(0), *output);
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
