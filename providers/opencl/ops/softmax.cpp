// Softmax, LogSoftmax (1 and 11 flatten; 13 along one axis).

#include <algorithm>

#include "base/rounding.h"
#include "opencl/ops/long_rows.h"
#include "opencl/ops/row_work.h"
#include "ops/normalization/softmax.h"

namespace tessera::opencl {
namespace {

class Softmax final : public Kernel {
 public:
  explicit Softmax(const KernelInfo& info)
      : settings_(SettingsOf(info)),
        kernel_(DeviceOf(info), "normalization", Computed('X', info.input_type(0)) + RowDefines(info),
                settings_.tiles ? "softmax" : "softmax_rows"),
        long_rows_(DeviceOf(info), {info.input_type(0), info.input_type(0), info.input_type(0), info.input_type(0)}),
        attributes_(info.node()),
        logarithm_(info.node().op_type == "LogSoftmax") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    const AxisView view = attributes_.View(x.shape());
    const int64_t n = view.count, stride = view.inner, num_rows = view.outer * view.inner;
    if (LongRows::Pay(settings_, n))
      return long_rows_.Softmax(context, x, y, RowLayout::Lines(num_rows, n, stride), logarithm_ != 0);
    if (settings_.tiles) return kernel_.Groups(context, num_rows, kRowLanes, x, y, cl_long{n}, cl_long{stride}, logarithm_);
    const int64_t together = RowsTogether(n),
                  items = stride == 1 ? CeilDiv(num_rows, together) : num_rows / stride * CeilDiv(stride, kRowStep);
    kernel_(context, {static_cast<size_t>(items), 1, 1}, {1, 1, 1}, x, y, cl_long{n}, cl_long{stride}, logarithm_,
            cl_long{num_rows}, static_cast<cl_int>(together));
  }

 private:
  const Settings& settings_;
  Launchable kernel_;
  LongRows long_rows_;
  SoftmaxAttributes attributes_;
  cl_int logarithm_;
};

}  // namespace

void RegisterSoftmax(KernelRegistry& registry) {
  registry.Add(Op("Softmax").Versions(1).Types(0, kReals).Make<Softmax>());
  registry.Add(Op("LogSoftmax").Versions(1).Types(0, kReals).Make<Softmax>());
}

}  // namespace tessera::opencl
