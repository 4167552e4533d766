// QLinearGlobalAveragePool, com.microsoft, version 1.

#include "ops/quantization/qlinear_global_average_pool.h"
#include "opencl/claims/refusals.h"
#include "opencl/ops/qlinear.h"

namespace tessera::opencl {
namespace {

class QLinearGlobalAveragePool final : public Kernel {
 public:
  explicit QLinearGlobalAveragePool(const KernelInfo& info)
      : attributes_(info.node()),
        kernel_(DeviceOf(info), "qlinear_global_average_pool", QuantizedResult(info.output_type(0)),
                "qlinear_global_average_pool") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto [shape, channels, pixels] = attributes_.Infer(x.shape());
    const QuantizedScalar of_x(context, 1), of_y(context, 3);
    const Tensor& y = *context.output(0, shape);
    kernel_.Linear(context, y.num_elements(), x, y, of_x.scale, of_x.zero, of_y.scale, of_y.zero, cl_long{channels},
                   cl_long{channels * pixels}, cl_long{attributes_.channels_last ? 1 : pixels},
                   cl_long{attributes_.channels_last ? channels : 1}, cl_long{pixels});
  }

 private:
  QLinearGlobalAveragePoolAttributes attributes_;
  Launchable kernel_;
};

}  // namespace

void RegisterQLinearGlobalAveragePool(KernelRegistry& registry) {
  registry.Add(Op("QLinearGlobalAveragePool", "com.microsoft")
                   .Types(0, kInt8s)
                   .Unless(SpatialRefusal)
                   .Make<QLinearGlobalAveragePool>());
}

}  // namespace tessera::opencl
