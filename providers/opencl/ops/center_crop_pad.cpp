// CenterCropPad (18): pads with zeros.

#include <algorithm>

#include "opencl/ops/pad_kernel.h"
#include "ops/movement/center_crop_pad.h"

namespace tessera::opencl {
namespace {

class CenterCropPad final : public Kernel {
 public:
  explicit CenterCropPad(const KernelInfo& info) : kernel_(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const Shape result = attributes_.ResultShape(shape, context.required_input(1));
    Strided s = Block(shape);
    for (size_t i = 0; i < shape.rank(); ++i) s.c[i] = CenterCropPadAttributes::Before(shape[i], result[i]);
    Tensor& y = *context.output(0, result);
    std::copy(shape.begin(), shape.end(), s.b.begin());
    std::copy(result.begin(), result.end(), s.dims.begin());
    s.a = RowMajor(shape);
    kernel_(context, RangeOf(x), y, s, cl_int{0}, cl_ulong{0});
  }

 private:
  PadKernel kernel_;
  CenterCropPadAttributes attributes_;
};

}  // namespace

void RegisterCenterCropPad(KernelRegistry& registry) {
  registry.Add(
      Op("CenterCropPad").Versions(18).Types(0, kNumbers | TypeSet{ElementType::kBool}).HostInput(1).Make<CenterCropPad>());
}

}  // namespace tessera::opencl
