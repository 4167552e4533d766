// com.microsoft SkipLayerNormalization, SkipSimplifiedLayerNormalization (1).

#include "ops/normalization/skip_layer_normalization.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

constexpr size_t kSkipLanes = 64;

class SkipNormalization final : public Kernel {
 public:
  explicit SkipNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "skip_layer_normalization",
                Computed('X', info.input_type(0)) + fmt::format("#define LANES {}\n", kSkipLanes), "skip_normalize"),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& skip = context.required_input(1);
    const Shape& shape = x.shape();
    const SkipLayerNormalizationSizes sizes(shape, skip.shape());
    const Tensor &gamma = context.required_input(2), *beta = attributes_.centers ? context.input(3) : nullptr,
                 *bias = context.input(attributes_.bias_input());
    for (const Tensor* parameter : {&gamma, beta, bias}) {
      Require(parameter == nullptr || (parameter->num_elements() == sizes.width && parameter->type() == x.type()),
              "a parameter of a row is {}; [{}] is expected", OptionalShape{parameter}, sizes.width);
    }
    const Tensor& y = *context.output(0, shape);
    const Tensor *mean = context.output(1, sizes.statistics), *inverse = context.output(2, sizes.statistics),
                 *sum = context.output(3, shape);
    if (x.num_elements() == 0) return;
    kernel_.Groups(context, sizes.rows, kSkipLanes, x, skip, gamma, beta, bias, y, mean, inverse, sum, cl_long{sizes.width},
                   cl_long{sizes.skip_rows}, attributes_.epsilon, cl_int{attributes_.centers});
  }

 private:
  Launchable kernel_;
  SkipLayerNormalizationAttributes attributes_;
};

}  // namespace

void RegisterSkipNormalization(KernelRegistry& registry) {
  for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}) {
    registry.Add(Op(op, "com.microsoft").Types(0, kReals).Make<SkipNormalization>());
  }
}

}  // namespace tessera::opencl
