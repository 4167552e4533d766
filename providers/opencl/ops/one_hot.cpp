// OneHot (9-28).

#include "ops/movement/one_hot.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class OneHot final : public Kernel {
 public:
  explicit OneHot(const KernelInfo& info)
      : kernel_(DeviceOf(info), "one_hot", Moved('X', info.input_type(2)) + Computed('I', info.input_type(0)), "one_hot"),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& indices = context.required_input(0);
    const Tensor& values = context.required_input(2);
    const Shape& dims = indices.shape();
    const int64_t depth = Depth(context.required_input(1));
    const size_t axis = attributes_.Axis(dims, depth, values.shape());
    Tensor& y = *context.output(0, OneHotAttributes::ResultShape(dims, depth, axis));
    kernel_.Linear(context, y.num_elements(), indices, values, y, cl_long{depth},
                   cl_long{dims.SizeOfRange(axis, dims.rank())}, cl_int{attributes_.wraps});
  }

 private:
  static int64_t Depth(const Tensor& tensor) {
    Require(tensor.num_elements() == 1, "depth has {} elements, expected one", tensor.num_elements());
    if (!kReals.contains(tensor.type())) return HostIntegers(tensor.Reshaped(Shape{1}))[0];
    const double depth = tensor.is(ElementType::kFloat) ? tensor.data<float>()[0] : tensor.data<double>()[0];
    Require(depth > -1 && depth < 0x1p62, "depth is {}", depth);
    return static_cast<int64_t>(depth);
  }

  Launchable kernel_;
  OneHotAttributes attributes_;
};

}  // namespace

void RegisterOneHot(KernelRegistry& registry) {
  constexpr TypeSet kDepths = {ElementType::kInt32, ElementType::kInt64, ElementType::kFloat, ElementType::kDouble};
  registry.Add(
      Op("OneHot").Versions(9).Types(0, kNumbers).Types(1, kDepths).Types(2, kMovable).HostInput(1).Make<OneHot>());
}

}  // namespace tessera::opencl
