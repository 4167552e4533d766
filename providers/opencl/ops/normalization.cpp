// Softmax, LogSoftmax (1, 11 flatten; 13 along one axis), LayerNormalization (17), BatchNormalization (9-15, inference).

#include "kernel.h"

namespace tessera::opencl {
namespace {

constexpr size_t kLanes = 64;
std::string Defines() { return fmt::format("#define LANES {}\n", kLanes); }

size_t Axis(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  Require(axis >= -r && axis < std::max<int64_t>(r, 1), "axis {} is outside [-{}, {})", axis, r, r);
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

class Softmax final : public Kernel {
 public:
  explicit Softmax(const KernelInfo& info)
      : kernel_(DeviceOf(info), "normalization", Defines(), "softmax"),
        flattens_(info.since_version() < 13),
        axis_(info.attribute<int64_t>("axis", flattens_ ? 1 : -1)),
        logarithm_(info.node().op_type == "LogSoftmax") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    const size_t rank = x.shape().rank(), axis = Axis(axis_, rank);
    const int64_t n = rank == 0 ? 1 : flattens_ ? x.shape().SizeOfRange(axis, rank) : x.shape()[axis];
    const int64_t stride = flattens_ || rank == 0 ? 1 : x.shape().SizeOfRange(axis + 1, rank);
    kernel_(context, {kLanes, static_cast<size_t>(x.num_elements() / n), 1}, {kLanes, 1, 1}, x, y, static_cast<cl_int>(n),
            static_cast<cl_int>(stride), static_cast<cl_int>(logarithm_));
  }

 private:
  Launchable kernel_;
  bool flattens_;
  int64_t axis_;
  bool logarithm_;
};

class LayerNormalization final : public Kernel {
 public:
  explicit LayerNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "normalization", Defines(), "layer_norm"),
        axis_(info.attribute<int64_t>("axis", -1)),
        epsilon_(info.attribute<float>("epsilon", 1e-5f)) {
    if (info.has_output(1) || info.has_output(2)) Fail(ErrorCode::kNotImplemented, "mean and deviation as outputs are left to the CPU provider");
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& scale = context.required_input(1);
    const Tensor* bias = context.input(2);
    const int64_t n = x.shape().SizeOfRange(Axis(axis_, x.shape().rank()), x.shape().rank());
    Require(scale.num_elements() == n && (bias == nullptr || bias->num_elements() == n), "scale and bias need {} elements", n);
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    kernel_(context, {kLanes, static_cast<size_t>(x.num_elements() / n), 1}, {kLanes, 1, 1}, x, scale, bias, y, static_cast<cl_int>(n), epsilon_);
  }

 private:
  Launchable kernel_;
  int64_t axis_;
  float epsilon_;
};

class BatchNormalization final : public Kernel {
 public:
  explicit BatchNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "normalization", Defines(), "batch_norm"), epsilon_(info.attribute<float>("epsilon", 1e-5f)) {
    if (info.attribute<int64_t>("training_mode", 0) != 0 || info.has_output(1)) {
      Fail(ErrorCode::kNotImplemented, "training mode is left to the CPU provider");
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Require(shape.rank() >= 2, "the input is {}; at least two dimensions are expected", shape.ToString());
    for (size_t i = 1; i < 5; ++i) {
      Require(context.required_input(i).num_elements() == shape[1], "input {} needs one element a channel, {} in all", i, shape[1]);
    }
    Tensor& y = *context.output(0, shape);
    kernel_.Linear(context, x.num_elements(), x, context.required_input(1), context.required_input(2), context.required_input(3),
                   context.required_input(4), y, static_cast<cl_long>(shape.SizeOfRange(2, shape.rank())), static_cast<cl_long>(shape[1]), epsilon_);
  }

 private:
  Launchable kernel_;
  float epsilon_;
};

}  // namespace

void RegisterNormalization(KernelRegistry& registry) {
  registry.Add(Op("Softmax").Versions(1).Types(0, kFloat32).Make<Softmax>());
  registry.Add(Op("LogSoftmax").Versions(1).Types(0, kFloat32).Make<Softmax>());
  registry.Add(Op("LayerNormalization").Versions(17).Types(0, kFloat32).Make<LayerNormalization>());
  registry.Add(Op("BatchNormalization").Versions(9).Types(0, kFloat32).InPlace(0, 0).Make<BatchNormalization>());
}

}  // namespace tessera::opencl
