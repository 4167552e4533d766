// Nchw8cGroupNormalization (ai.tessera 1): GroupNormalization (21), and InstanceNormalization as groups of one, in
// NCHW8c. Inputs X, scale and bias, a number for each channel. A group fills blocks, or a block groups.

#include "base/checked.h"
#include "cpu/ops/nn/nchw8c_layout.h"
#include "cpu/ops/ops.h"
#include "ops/normalization/group_normalization.h"

namespace tessera::cpu {
namespace {

class Nchw8cGroupNormalization final : public Kernel {
 public:
  explicit Nchw8cGroupNormalization(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor &input = context.required_input(0), &scale = context.required_input(1), &bias = context.required_input(2);
    RequireNchw8c(input);
    const Shape& shape = input.shape();
    const int64_t channels = CheckedMul(shape[1], kChannelBlock);
    const int64_t of_group = channels / attributes_.Groups({shape[0], channels});
    Require(of_group % kChannelBlock == 0 || kChannelBlock % of_group == 0,
            "groups of {} channels do not divide into blocks", of_group);
    for (const Tensor* each : {&scale, &bias}) {
      Require(each->is(ElementType::kFloat) && each->num_elements() == channels, "scale and bias need {} floats each",
              channels);
    }
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    const Nchw8cGroups groups{Pixels(shape), CeilDiv(of_group, kChannelBlock), std::min(of_group, kChannelBlock),
                              attributes_.epsilon};
    const int64_t units = shape[1] / groups.blocks, size = groups.blocks * groups.pixels * kChannelBlock;
    const double cost = 50 + 1.2 * static_cast<double>(groups.blocks * groups.pixels);
    context.threads().ParallelFor(shape[0] * units, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % units * groups.blocks * kChannelBlock;
        NormalizeNchw8cGroup(groups, input.data<float>() + i * size, scale.data<float>() + first,
                             bias.data<float>() + first, output->mutable_data<float>() + i * size);
      }
    });
  }

 private:
  GroupNormalizationAttributes attributes_;
};

}  // namespace

void RegisterNchw8cGroupNormalization(KernelRegistry& registry) {
  if (SuitsChannelBlocks())
    registry.Add(Nchw8cOp("Nchw8cGroupNormalization").InPlace(0, 0).Make<Nchw8cGroupNormalization>());
}

}  // namespace tessera::cpu
