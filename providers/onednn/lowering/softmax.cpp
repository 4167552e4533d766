// Softmax (1, 11, 13) -> a step of our own.

#include <algorithm>

#include "base/rounding.h"
#include "kernels/normalize/softmax.h"
#include "onednn/lowering/lowering.h"
#include "ops/normalization/softmax.h"

namespace tessera::onednn {
namespace {

std::string RefuseSoftmax(const GraphViewer& graph, const Node& node) {
  const size_t rank = graph.value(node.inputs[0]).type.shape->size();
  return AxisWithin(SoftmaxAttributes(node).axis, rank) ? "" : "its axis is outside the input";
}

/// The CPU provider's, along the middle one of three axes: oneDNN's leaves numbers in a row that has NaN or infinity.
class SoftmaxStep final : public NativeStep {
 public:
  explicit SoftmaxStep(const AxisView& view) : outer_(view.outer), count_(view.count), inner_(view.inner) {}

  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    constexpr double kNsPerNumber = 0.5;
    const auto* x = static_cast<const float*>(memories[0]);
    auto* y = static_cast<float*>(memories[1]);
    const auto& kernels = cpu::SoftmaxKernelsF32();
    const double ns = kNsPerNumber * static_cast<double>(count_);
    if (inner_ == 1) {
      return threads.ParallelFor(outer_, ns, [&](int64_t begin, int64_t end) {
        kernels.rows(x + begin * count_, y + begin * count_, end - begin, count_, false);
      });
    }
    const int64_t blocks = CeilDiv(inner_, cpu::kSoftmaxColumns);
    threads.ParallelFor(
        outer_ * blocks, ns * static_cast<double>(std::min(inner_, cpu::kSoftmaxColumns)), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t column = i % blocks * cpu::kSoftmaxColumns, first = i / blocks * count_ * inner_ + column;
            kernels.columns(x + first, y + first, count_, inner_, std::min(cpu::kSoftmaxColumns, inner_ - column), false);
          }
        });
  }

 private:
  int64_t outer_, count_, inner_;
};

void LowerSoftmax(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const MemoryIndex src = builder.InPlainLayout(x), dst = builder.Temporary(builder.desc(src));
  if (Elements(x.dims) > 0)
    builder.AddNative(std::make_shared<SoftmaxStep>(SoftmaxAttributes(node).View(Shape(x.dims))), {src, dst});
  builder.SetOutput(node, {x.dims, dst});
}

constexpr Lowering kSoftmaxLowerings[] = {{"Softmax", 1, kLatestVersion, false, RefuseSoftmax, LowerSoftmax}};

}  // namespace

std::span<const Lowering> SoftmaxLowerings() { return kSoftmaxLowerings; }

}  // namespace tessera::onednn
