// Operators along one axis, a work item for each line: ArgMax, ArgMin (1-13), Hardmax (1-13), CumSum (11, 14), CumProd
// (26), LpNormalization (1, 22).

#include "opencl/device/kernel.h"
#include "ops/normalization/lp_normalization.h"
#include "ops/normalization/softmax.h"
#include "ops/reduction/arg_max.h"
#include "ops/reduction/cum_sum.h"

namespace tessera::opencl {
namespace {

class ArgExtreme final : public Kernel {
 public:
  explicit ArgExtreme(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "arg"),
        attributes_(info.node()),
        smallest_(info.node().op_type == "ArgMin") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor& y = *context.output(0, attributes_.ResultShape(x.shape()));
    const AxisView view(x.shape(), NormalizeAxis(attributes_.axis, x.shape().rank()));
    kernel_.Linear(context, y.num_elements(), x, y, cl_long{view.count}, cl_long{view.inner}, smallest_,
                   cl_int{attributes_.select_last_index});
  }

 private:
  Launchable kernel_;
  ArgMaxAttributes attributes_;
  cl_int smallest_;
};

class Hardmax final : public Kernel {
 public:
  explicit Hardmax(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "hardmax"), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisView view = attributes_.View(x.shape());
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    kernel_.Linear(context, view.outer * view.inner, x, y, cl_long{view.count}, cl_long{view.inner});
  }

 private:
  Launchable kernel_;
  SoftmaxAttributes attributes_;
};

class Cumulate final : public Kernel {
 public:
  explicit Cumulate(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "cumulate"),
        product_(info.node().op_type == "CumProd"),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisView view = CumSumAttributes::View(x.shape(), context.required_input(1));
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    kernel_.Linear(context, view.outer * view.inner, x, y, cl_long{view.count}, cl_long{view.inner}, product_,
                   cl_int{attributes_.exclusive}, cl_int{attributes_.reverse});
  }

 private:
  Launchable kernel_;
  cl_int product_;
  CumSumAttributes attributes_;
};

class LpNormalization final : public Kernel {
 public:
  explicit LpNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "lp_normalize"), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisView view(x.shape(), NormalizeAxis(attributes_.axis, x.shape().rank()));
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    kernel_.Linear(context, view.outer * view.inner, x, y, cl_long{view.count}, cl_long{view.inner},
                   static_cast<cl_int>(attributes_.p));
  }

 private:
  Launchable kernel_;
  LpNormalizationAttributes attributes_;
};

}  // namespace

void RegisterRowOperators(KernelRegistry& registry) {
  registry.Add(Op("ArgMax").Versions(1).Types(0, kNumbers).Make<ArgExtreme>());
  registry.Add(Op("ArgMin").Versions(1).Types(0, kNumbers).Make<ArgExtreme>());
  registry.Add(Op("Hardmax").Versions(1).Types(0, kReals).Make<Hardmax>());
  constexpr TypeSet kSums =
      kReals | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
  registry.Add(Op("CumSum").Versions(11).Types(0, kSums).HostInput(1).Make<Cumulate>());
  registry.Add(Op("CumProd").Versions(26).Types(0, kSums).HostInput(1).Make<Cumulate>());
  registry.Add(Op("LpNormalization").Versions(1).Types(0, kReals).Make<LpNormalization>());
}

}  // namespace tessera::opencl
