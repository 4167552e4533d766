// InstanceNormalization: versions 1, 6, 22. GroupNormalization: version 18 (scale and bias for each group), 21 (for each
// channel).

#include "ops/normalization/group_normalization.h"
#include "cpu/engine/normalize.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/normalize/normalize.h"

namespace tessera::cpu {
namespace {

/// Channels in groups, each group of a sample standardized, then scaled channel by channel. Instances are groups of one.
template <class C>
class GroupNormalization final : public Kernel {
 public:
  explicit GroupNormalization(const KernelInfo& info) : attributes_(info.node()), epsilon_(attributes_.epsilon) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const int64_t groups = attributes_.Groups(shape), channels = shape[1];
    const int64_t spatial = shape.SizeOfRange(2, shape.rank());
    Tensor* y = context.output(0, shape);
    const int64_t parameters = attributes_.scales_groups ? groups : channels;
    const auto scale = context.scratch<C>(static_cast<size_t>(parameters)), bias = context.scratch<C>(scale.size());
    Load(context, 1, parameters, scale.data());
    Load(context, 2, parameters, bias.data());
    if (y == nullptr || y->num_elements() == 0) return;
    const int64_t per_group = channels / groups;
    const RowReader<C> reader(x);
    const RowWriter<C> writer(*y);
    if (per_group == 1 && spatial <= kMostOfPlane && reader.direct() && writer.direct()) {
      const C* in = x.data<C>();
      C* out = y->mutable_data<C>();
      VisitPlanes(context, shape[0] * channels, channels, spatial, [&](int64_t first, int64_t count, int64_t channel) {
        kernels_.standardize_planes(in + first * spatial, out + first * spatial, count, spatial, epsilon_,
                                    scale.data() + channel, bias.data() + channel);
      });
      return;
    }
    NormalizeRows<C>(
        context, reader, writer, shape[0] * groups, per_group * spatial, true, epsilon_, nullptr,
        [&](int64_t row, int64_t first, int64_t count, const C* in, C* out, RowStatistics s) {
          const int64_t group = row % groups;
          for (int64_t i = 0; i < count;) {
            const int64_t channel = (first + i) / spatial, n = std::min((channel + 1) * spatial - first - i, count - i);
            const int64_t p = attributes_.scales_groups ? group : group * per_group + channel;
            kernels_.affine(in + i, out + i, n, static_cast<C>(s.mean),
                            static_cast<C>(scale[static_cast<size_t>(p)] * s.inverse), bias[static_cast<size_t>(p)]);
            i += n;
          }
        });
  }

 private:
  static void Load(KernelContext& context, size_t input, int64_t count, C* out) {
    const Tensor& tensor = context.required_input(input);
    Require(tensor.num_elements() == count, "input {} has {} elements, {} are expected", input, tensor.num_elements(),
            count);
    RowReader<C>(tensor).Copy(0, count, out);
  }

  GroupNormalizationAttributes attributes_;
  double epsilon_;
  const NormalizeKernels<C>& kernels_ = NormalizeKernelsOf<C>();
};

}  // namespace

void RegisterInstanceNormalization(KernelRegistry& registry) {
  registry.Add(Op("InstanceNormalization").Types(0, kFloats).InPlace(0, 0).Factory(MakeComputed<GroupNormalization>));
}
void RegisterGroupNormalization(KernelRegistry& registry) {
  registry.Add(Op("GroupNormalization").Types(0, kFloats).InPlace(0, 0).Factory(MakeComputed<GroupNormalization>));
}

}  // namespace tessera::cpu
