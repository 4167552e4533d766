// Shape (1, 13: the whole shape; 15, 19, 21, 23, 24, 25: dimensions [start, end)). The data is never touched.

#include <limits>

#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class ShapeOf final : public Kernel {
 public:
  explicit ShapeOf(const KernelInfo& info)
      : start_(info.attribute<int64_t>("start", 0)),
        end_(info.attribute<int64_t>("end", std::numeric_limits<int64_t>::max())) {}

  void Compute(KernelContext& context) override {
    const Shape& dims = context.required_input(0).shape();
    const auto rank = static_cast<int64_t>(dims.rank());
    const auto clamped = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const int64_t start = clamped(start_), count = std::max<int64_t>(clamped(end_) - start, 0);
    Tensor* output = context.output(0, {count});
    std::copy_n(dims.begin() + start, count, output->mutable_data<int64_t>());
  }

 private:
  const int64_t start_, end_;
};

}  // namespace

void RegisterShape(KernelRegistry& registry) { registry.Add(Op("Shape").Versions(1).Make<ShapeOf>()); }

}  // namespace tessera::cpu
