// BatchNormalization: versions 1, 6, 7, 9, 14, 15.

#include <cmath>

#include "cpu/engine/normalize.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/normalize/normalize.h"
#include "ops/normalization/batch_normalization.h"

namespace tessera::cpu {
namespace {

template <class C>
class BatchNormalization final : public Kernel {
 public:
  explicit BatchNormalization(const KernelInfo& info) : BatchNormalization(BatchNormalizationAttributes(info.node())) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Shape reduced(shape.rank(), 1), parameters{BatchNormalizationAttributes::Channels(shape)};
    for (size_t i = 1; i < shape.rank(); ++i) {
      if (i > 1 && spatial_) break;
      reduced[i] = 0;
      if (i > 1) parameters.Append(shape[i]);
    }
    const size_t channels = static_cast<size_t>(parameters.num_elements());
    const auto a = context.scratch<C>(channels), b = context.scratch<C>(channels), mean = context.scratch<C>(channels);
    const auto variance = context.scratch<double>(channels);
    Load(context, 1, parameters, a.data());
    Load(context, 2, parameters, b.data());
    Tensor* y = context.output(0, shape);
    if (training_) {
      const Reduction reduction(shape, reduced);
      MomentsOfReduced<C>(context, reduction, x, mean.data(), variance.data());
      WriteStatistics(context, parameters, mean, variance);
    } else {
      Load(context, 3, parameters, mean.data());
      const auto given = context.scratch<C>(channels);
      Load(context, 4, parameters, given.data());
      std::copy(given.begin(), given.end(), variance.begin());
    }
    if (y == nullptr || y->num_elements() == 0) return;
    for (size_t i = 0; i < channels; ++i) a[i] = static_cast<C>(a[i] / std::sqrt(variance[i] + epsilon_));
    const RowReader<C> reader(x);
    const RowWriter<C> writer(*y);
    const int64_t plane = shape.rank() < 2 ? 1 : shape.SizeOfRange(2, shape.rank());
    if (spatial_ && shape.rank() >= 2 && plane <= kMostOfPlane && reader.direct() && writer.direct()) {
      const C* in = x.data<C>();
      C* out = y->mutable_data<C>();
      VisitPlanes(context, shape[0] * shape[1], shape[1], plane, [&](int64_t first, int64_t count, int64_t channel) {
        kernels_.affine_planes(in + first * plane, out + first * plane, count, plane, mean.data() + channel,
                               a.data() + channel, b.data() + channel);
      });
      return;
    }
    AffineOfReduced<C>(context, Reduction(shape, reduced), reader, writer, mean.data(), a.data(), b.data());
  }

 private:
  explicit BatchNormalization(const BatchNormalizationAttributes& attributes)
      : epsilon_(attributes.epsilon),
        momentum_(attributes.momentum),
        spatial_(attributes.spatial),
        training_(attributes.training) {}

  static void Load(KernelContext& context, size_t input, const Shape& shape, C* out) {
    const Tensor& tensor = context.required_input(input);
    Require(tensor.num_elements() == shape.num_elements(), "input {} has shape {}, {} is expected", input, tensor.shape(),
            shape);
    RowReader<C>(tensor).Copy(0, tensor.num_elements(), out);
  }

  /// Running mean and variance, and before version 14 the batch's.
  void WriteStatistics(KernelContext& context, const Shape& shape, std::span<const C> mean,
                       std::span<const double> variance) {
    for (size_t i = 1; i < context.num_outputs(); ++i) {
      if (!context.has_output(i)) continue;
      const bool running = i <= 2, is_mean = i % 2 == 1;
      const auto old = context.scratch<C>(mean.size());
      if (running) Load(context, is_mean ? 3 : 4, shape, old.data());
      const RowWriter<double> out(*context.output(i, shape));
      for (size_t c = 0; c < mean.size(); ++c) {
        const double now = is_mean ? static_cast<double>(mean[c]) : variance[c];
        out.Write(static_cast<int64_t>(c), running ? old[c] * momentum_ + now * (1 - momentum_) : now);
      }
    }
  }

  const NormalizeKernels<C>& kernels_ = NormalizeKernelsOf<C>();
  double epsilon_;
  double momentum_;
  bool spatial_;
  bool training_;
};

}  // namespace

void RegisterBatchNormalization(KernelRegistry& registry) {
  registry.Add(Op("BatchNormalization").Types(0, kFloats).InPlace(0, 0).Factory(MakeComputed<BatchNormalization>));
}

}  // namespace tessera::cpu
