// Gather (1-13).

#include "kernel.h"

namespace tessera::opencl {
namespace {

class Gather final : public Kernel {
 public:
  explicit Gather(const KernelInfo& info)
      : kernel_(DeviceOf(info), "gather",
                fmt::format("#define T {}\n#define INDEX {}\n", TypeName(info.input_type(0)), TypeName(info.input_type(1))), "gather"),
        axis_(info.attribute<int64_t>("axis", 0)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const auto rank = static_cast<int64_t>(x.shape().rank());
    Require(axis_ >= -rank && axis_ < rank, "axis {} is outside [-{}, {})", axis_, rank, rank);
    const auto axis = static_cast<size_t>(axis_ < 0 ? axis_ + rank : axis_);
    Shape result;
    for (size_t i = 0; i < axis; ++i) result.Append(x.shape()[i]);
    for (int64_t dim : indices.shape()) result.Append(dim);
    for (size_t i = axis + 1; i < x.shape().rank(); ++i) result.Append(x.shape()[i]);
    Tensor& y = *context.output(0, result);
    Require(y.num_elements() == 0 || x.shape()[axis] > 0, "indices into an empty dimension");
    kernel_.Linear(context, y.num_elements(), x, indices, y, static_cast<cl_long>(x.shape()[axis]),
                   static_cast<cl_long>(indices.num_elements()), static_cast<cl_long>(x.shape().SizeOfRange(axis + 1, x.shape().rank())));
  }

 private:
  Launchable kernel_;
  int64_t axis_;
};

}  // namespace

void RegisterGather(KernelRegistry& registry) {
  registry.Add(Op("Gather").Versions(1).Types(0, kMovable).Types(1, {ElementType::kInt32, ElementType::kInt64}).Make<Gather>());
}

}  // namespace tessera::opencl
