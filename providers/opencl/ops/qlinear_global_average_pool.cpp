// QLinearGlobalAveragePool, com.microsoft, version 1.

#include "opencl/ops/qlinear.h"

namespace tessera::opencl {
namespace {

class QLinearGlobalAveragePool final : public Kernel {
 public:
  explicit QLinearGlobalAveragePool(const KernelInfo& info)
      : channels_last_(info.attribute<int64_t>("channels_last", 0) != 0),
        kernel_(DeviceOf(info), "qlinear_global_average_pool", QuantizedResult(info.output_type(0)),
                "qlinear_global_average_pool") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t rank = x.shape().rank();
    Require(rank >= 2, "the input must have batch and channels, it is {}", x.shape());
    Shape shape = x.shape();
    const size_t first = channels_last_ ? 1 : 2;
    int64_t pixels = 1;
    for (size_t i = first; i < first + rank - 2; ++i) {
      pixels *= shape[i];
      shape[i] = 1;
    }
    const int64_t channels = channels_last_ ? x.shape().back() : x.shape()[1];
    const QuantizedScalar of_x(context, 1), of_y(context, 3);
    const Tensor& y = *context.output(0, shape);
    kernel_.Linear(context, y.num_elements(), x, y, of_x.scale, of_x.zero, of_y.scale, of_y.zero, cl_long{channels},
                   cl_long{channels * pixels}, cl_long{channels_last_ ? 1 : pixels}, cl_long{channels_last_ ? channels : 1},
                   cl_long{pixels});
  }

 private:
  bool channels_last_;
  Launchable kernel_;
};

}  // namespace

void RegisterQLinearGlobalAveragePool(KernelRegistry& registry) {
  registry.Add(Op("QLinearGlobalAveragePool", "com.microsoft").Types(0, kInt8s).Make<QLinearGlobalAveragePool>());
}

}  // namespace tessera::opencl
