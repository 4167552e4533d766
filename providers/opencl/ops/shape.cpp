// Shape (1-25).

#include <algorithm>

#include "opencl/device/kernel.h"
#include "ops/movement/shape.h"

namespace tessera::opencl {
namespace {

/// Only the shape is read: the data stays where it is.
class ShapeOf final : public Kernel {
 public:
  explicit ShapeOf(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Shape& shape = context.required_input(0).shape();
    const auto [first, last] = attributes_.Range(shape.rank());
    Tensor& y = *context.output(0, Shape{static_cast<int64_t>(last - first)});
    std::copy(shape.begin() + first, shape.begin() + last, y.mutable_data<int64_t>());
  }

 private:
  ShapeAttributes attributes_;
};

}  // namespace

void RegisterShape(KernelRegistry& registry) { registry.Add(Op("Shape").Versions(1).HostOutput(0).Make<ShapeOf>()); }

}  // namespace tessera::opencl
