// Operators along one axis, a work item for each line: ArgMax, ArgMin (1-13), Hardmax (1-13), CumSum (11, 14), CumProd
// (26), LpNormalization (1, 22).

#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

struct AxisRows {
  AxisRows(const Shape& shape, size_t axis) : size(shape[axis]), stride(shape.SizeOfRange(axis + 1, shape.rank())) {}
  cl_long size, stride;
};

class ArgExtreme final : public Kernel {
 public:
  explicit ArgExtreme(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "arg"),
        axis_(info.attribute<int64_t>("axis", 0)),
        keepdims_(info.attribute<int64_t>("keepdims", 1) != 0),
        smallest_(info.node().op_type == "ArgMin"),
        last_(info.attribute<int64_t>("select_last_index", 0) != 0) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t axis = Axis(axis_, x.shape().rank());
    Shape result;
    for (size_t i = 0; i < x.shape().rank(); ++i) {
      if (i != axis) result.Append(x.shape()[i]);
      if (i == axis && keepdims_) result.Append(1);
    }
    const AxisRows rows(x.shape(), axis);
    Tensor& y = *context.output(0, result);
    Require(y.num_elements() == 0 || rows.size > 0, "an empty axis has no extreme element");
    kernel_.Linear(context, y.num_elements(), x, y, rows.size, rows.stride, smallest_, last_);
  }

 private:
  Launchable kernel_;
  int64_t axis_;
  bool keepdims_;
  cl_int smallest_, last_;
};

/// Before version 13 everything from the axis on is one line.
class Hardmax final : public Kernel {
 public:
  explicit Hardmax(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "hardmax"),
        flattens_(info.since_version() < 13),
        axis_(info.attribute<int64_t>("axis", flattens_ ? 1 : -1)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t axis = Axis(axis_, x.shape().rank());
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    AxisRows rows(x.shape(), axis);
    if (flattens_) {
      rows.size *= rows.stride;
      rows.stride = 1;
    }
    kernel_.Linear(context, x.num_elements() / rows.size, x, y, rows.size, rows.stride);
  }

 private:
  Launchable kernel_;
  bool flattens_;
  int64_t axis_;
};

class Cumulate final : public Kernel {
 public:
  explicit Cumulate(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "cumulate"),
        product_(info.node().op_type == "CumProd"),
        exclusive_(info.attribute<int64_t>("exclusive", 0) != 0),
        reverse_(info.attribute<int64_t>("reverse", 0) != 0) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& given = context.required_input(1);
    Require(given.num_elements() == 1, "the axis is {}, not one number", given.shape());
    const size_t axis = Axis(HostIntegers(given.Reshaped(Shape{1}))[0], x.shape().rank());
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    const AxisRows rows(x.shape(), axis);
    kernel_.Linear(context, x.num_elements() / rows.size, x, y, rows.size, rows.stride, product_, exclusive_, reverse_);
  }

 private:
  Launchable kernel_;
  cl_int product_, exclusive_, reverse_;
};

class LpNormalization final : public Kernel {
 public:
  explicit LpNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "axis_ops", Computed('X', info.input_type(0)), "lp_normalize"),
        axis_(info.attribute<int64_t>("axis", -1)),
        p_(static_cast<cl_int>(info.attribute<int64_t>("p", 2))) {
    Require(p_ == 1 || p_ == 2, "p is {}; norms are L1 or L2", p_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisRows rows(x.shape(), Axis(axis_, x.shape().rank()));
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    kernel_.Linear(context, x.num_elements() / rows.size, x, y, rows.size, rows.stride, p_);
  }

 private:
  Launchable kernel_;
  int64_t axis_;
  cl_int p_;
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
