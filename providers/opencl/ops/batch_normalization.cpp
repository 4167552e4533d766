// BatchNormalization (7-15, inference).

#include <algorithm>

#include "opencl/device/kernel.h"
#include "ops/normalization/batch_normalization.h"

namespace tessera::opencl {
namespace {

class BatchNormalization final : public Kernel {
 public:
  explicit BatchNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "normalization",
                Computed('X', info.input_type(0)) + Computed('S', info.input_type(1)) + Computed('M', info.input_type(3)),
                "batch_norm"),
        epsilon_(BatchNormalizationAttributes(info.node()).epsilon) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const int64_t channels = BatchNormalizationAttributes::Channels(shape);
    for (size_t i = 1; i < 5; ++i) {
      Require(context.required_input(i).num_elements() == channels, "input {} needs one element a channel, {} in all", i,
              channels);
    }
    Tensor& y = *context.output(0, shape);
    kernel_.Linear(context, x.num_elements(), x, context.required_input(1), context.required_input(2),
                   context.required_input(3), context.required_input(4), y,
                   cl_long{shape.SizeOfRange(std::min<size_t>(2, shape.rank()), shape.rank())}, cl_long{channels},
                   epsilon_);
  }

 private:
  Launchable kernel_;
  float epsilon_;
};

std::string StatisticsRefusal(const NodeInfo& info) {
  if (info.has_output(1)) return "only the first output is computed on the device";
  const BatchNormalizationAttributes attributes(info.node());
  if (attributes.training) return "training is left to the CPU provider";
  return attributes.spatial ? "" : "statistics of each element are left to the CPU provider";
}

}  // namespace

void RegisterBatchNormalization(KernelRegistry& registry) {
  registry.Add(Op("BatchNormalization")
                   .Versions(7)
                   .Types(0, kReals)
                   .InPlace(0, 0)
                   .Unless(StatisticsRefusal)
                   .Make<BatchNormalization>());
}

}  // namespace tessera::opencl
