// PRelu (1, 6, 7, 9, 16): slope * x where x < 0, else x (also where x is no number).

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/activation/prelu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr TypeSet kPReluTypes =
    kFloats | TypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64};
constexpr ElementwiseRow kPRelu = TESSERA_BINARY(PRelu, 1, kPReluTypes, a < T(0) ? T(W(a) * W(b)) : a).Costs(0.25);

}  // namespace

const ElementwiseRow& PReluRow() { return kPRelu; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(PReluRow);

namespace {

class PRelu final : public BinaryKernel {
 public:
  explicit PRelu(const KernelInfo& info) : BinaryKernel(info, ToElementwise(HWY_DYNAMIC_DISPATCH(PReluRow)(), info)) {
    Require(info.input_type(0) == info.input_type(1), "inputs are tensor({}) and tensor({}), expected one type",
            ElementTypeName(info.input_type(0)), ElementTypeName(info.input_type(1)));
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& slope = context.required_input(1);
    Require(x.type() == a_type_ && slope.type() == b_type_, "inputs are tensor({}) and tensor({}), expected tensor({})",
            ElementTypeName(x.type()), ElementTypeName(slope.type()), ElementTypeName(a_type_));
    const bool broadcasts = BroadcastsTo(slope.shape(), x.shape());
    if (slope.num_elements() == 1) {
      Run(context, x, slope, x.shape(), Shape(x.shape().rank(), 1), x.shape());
    } else if (legacy_ && slope.shape().rank() == 1) {
      Run(context, x, slope, x.shape(), LegacyBroadcastShape(x.shape(), slope.shape(), x.shape().rank() > 1 ? 1 : 0),
          x.shape());
    } else if (!broadcasts && slope.shape().rank() == 1) {
      Run(context, x, slope, x.shape(), LegacyBroadcastShape(x.shape(), slope.shape(), AxisOf(x.shape(), slope.shape()[0])),
          x.shape());
    } else {
      Require(broadcasts, "slope of shape {} does not broadcast to {}", slope.shape(), x.shape());
      Run(context, x, slope, x.shape(), slope.shape(), x.shape());
    }
  }

 private:
  /// One slope for each channel without trailing ones, as older exporters write it: the only dimension of that size.
  static int64_t AxisOf(const Shape& shape, int64_t size) {
    int64_t axis = -1;
    for (size_t i = 0; i < shape.rank(); ++i) {
      if (shape[i] != size) continue;
      Require(axis < 0, "slope of shape [{}] lies on more than one axis of {}", size, shape);
      axis = static_cast<int64_t>(i);
    }
    Require(axis >= 0, "slope of shape [{}] does not broadcast to {}", size, shape);
    return axis;
  }
};

}  // namespace

void RegisterPRelu(KernelRegistry& registry) {
  const TypeSet types = HWY_DYNAMIC_DISPATCH(PReluRow)().types.set;
  registry.Add(Op("PRelu").Versions(1).Types(0, types).Types(1, types).InPlace(0, 0).Make<PRelu>());
}

}  // namespace tessera::cpu
#endif
