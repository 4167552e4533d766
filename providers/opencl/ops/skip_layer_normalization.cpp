// com.microsoft SkipLayerNormalization, SkipSimplifiedLayerNormalization (1).

#include "ops/normalization/skip_layer_normalization.h"
#include "base/checked.h"
#include "opencl/ops/long_rows.h"

namespace tessera::opencl {
namespace {

constexpr size_t kSkipLanes = 64;

class SkipNormalization final : public Kernel {
 public:
  explicit SkipNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "skip_layer_normalization",
                Computed('X', info.input_type(0)) + fmt::format("#define LANES {}\n", kSkipLanes), "skip_normalize"),
        add_(DeviceOf(info), "skip_layer_normalization", Computed('X', info.input_type(0)), "add_skip"),
        settings_(SettingsOf(info)),
        total_type_(info.input_type(0) == ElementType::kDouble ? ElementType::kDouble : ElementType::kFloat),
        long_rows_(DeviceOf(info), {total_type_, info.input_type(0), info.input_type(0), ElementType::kFloat}),
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
    if (LongRows::Pay(settings_, sizes.width)) {
      const DeviceScratch totals(context,
                                 static_cast<size_t>(CheckedMul(x.num_elements(), int64_t{BitWidth(total_type_) / 8})));
      add_.Compile().Linear(context, x.num_elements(), x, skip, bias, totals.range(), sum, cl_long{sizes.width},
                            cl_long{sizes.skip_rows});
      return long_rows_.Standardize(context, totals.range(), y, RowLayout::Contiguous(sizes.rows, sizes.width),
                                    {.centers = attributes_.centers,
                                     .epsilon = attributes_.epsilon,
                                     .parameters = {.scale = &gamma, .bias = beta},
                                     .mean = mean,
                                     .inverse = inverse});
    }
    kernel_.Groups(context, sizes.rows, kSkipLanes, x, skip, gamma, beta, bias, y, mean, inverse, sum, cl_long{sizes.width},
                   cl_long{sizes.skip_rows}, attributes_.epsilon, cl_int{attributes_.centers});
  }

 private:
  Launchable kernel_;
  LazyLaunchable add_;
  const Settings& settings_;
  ElementType total_type_;
  LongRows long_rows_;
  SkipLayerNormalizationAttributes attributes_;
};

}  // namespace

void RegisterSkipLayerNormalization(KernelRegistry& registry) {
  for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}) {
    registry.Add(Op(op, "com.microsoft").Types(0, kReals).Make<SkipNormalization>());
  }
}

}  // namespace tessera::opencl
