// QLinearConv (10): convolution of quantized tensors.

#include "ops/nn/integer_conv.h"
#include "ops/ops.h"

namespace tessera::cpu {
namespace {

class QLinearConv final : public Kernel {
 public:
  explicit QLinearConv(const KernelInfo& info) : conv_(info, 3, 5) {}

  void Compute(KernelContext& context) override {
    const IntegerConv::Inputs inputs{&context.required_input(0), conv_.has_weights() ? nullptr : &context.required_input(3),
                                     context.input(2), context.input(5), context.input(8)};
    Tensor* output = nullptr;
    int32_t* sums = nullptr;
    conv_.Run(context, inputs, [&](const Shape& shape) -> int32_t* {
      output = context.output(0, shape);
      if (output != nullptr) sums = context.scratch<int32_t>(static_cast<size_t>(output->num_elements())).data();
      return sums;
    });
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t outputs = output->shape()[1];
    const int64_t pixels = output->shape().SizeOfRange(2, output->shape().rank());
    const float x_scale = Scalar(context.required_input(1), "x_scale");
    const float y_scale = Scalar(context.required_input(6), "y_scale");
    const Tensor& w_scale = context.required_input(4);
    Require(w_scale.num_elements() == 1 || w_scale.num_elements() == outputs, "w_scale has {} values; 1 or {} are expected",
            w_scale.num_elements(), outputs);
    const auto y_zero = ReadZeroPoints(context, context.input(7));
    Require(y_zero.size() == 1, "y_zero_point has {} values, 1 is expected", y_zero.size());
    auto* out = static_cast<uint8_t*>(output->mutable_raw());
    const bool is_signed = IsSigned(output->type());
    context.threads().ParallelFor(output->shape()[0] * outputs, static_cast<double>(pixels) * 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float scale = x_scale * w_scale.data<float>()[w_scale.num_elements() == 1 ? 0 : i % outputs] / y_scale;
        RequantizeRow(sums + i * pixels, pixels, &scale, 0, y_zero[0], is_signed, out + i * pixels);
      }
    });
  }

 private:
  static float Scalar(const Tensor& tensor, std::string_view name) {
    Require(tensor.num_elements() == 1, "{} has {} values, 1 is expected", name, tensor.num_elements());
    return tensor.data<float>()[0];
  }

  IntegerConv conv_;
};

}  // namespace

void RegisterQLinearConv(KernelRegistry& registry) { registry.Add(Op("QLinearConv").Make<QLinearConv>()); }

}  // namespace tessera::cpu
