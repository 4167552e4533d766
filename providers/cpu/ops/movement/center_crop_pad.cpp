// CenterCropPad (18): the middle of each axis, or zeros around it.

#include <array>

#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"
#include "ops/movement/center_crop_pad.h"

namespace tessera::cpu {
namespace {

class CenterCropPad final : public Kernel {
 public:
  explicit CenterCropPad(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& dims = input.shape();
    const size_t rank = dims.rank();
    const Shape shape = attributes_.ResultShape(dims, context.required_input(1));
    if (shape == dims) return context.set_output(0, input);

    const ElementKind element = KindOf(input.type());
    Tensor* output = context.output(0, input.type(), shape);
    bool pads = false;
    for (size_t i = 0; i < rank; ++i) pads |= shape[i] > dims[i];
    if (pads) FillZeros(context, *output, element);
    if (output->num_elements() == 0 || input.num_elements() == 0) return;
    StridedCopy copy(element);
    int64_t src_stride = input.num_elements(), dst_stride = output->num_elements(), src = 0, dst = 0;
    for (size_t i = 0; i < rank; ++i) {
      src_stride /= dims[i];
      dst_stride /= shape[i];
      const int64_t before = CenterCropPadAttributes::Before(dims[i], shape[i]);
      src += std::max<int64_t>(-before, 0) * src_stride;
      dst += std::max<int64_t>(before, 0) * dst_stride;
      copy.Add(std::min(dims[i], shape[i]), src_stride, dst_stride);
    }
    copy.Run(context.threads(), Bytes(input) + src * element.bytes, Bytes(*output) + dst * element.bytes);
  }

 private:
  static void FillZeros(KernelContext& context, Tensor& output, ElementKind element) {
    static constexpr std::array<uint64_t, 2> kZero = {};
    FillParallel(context.threads(), output.mutable_raw(), kZero.data(), output.num_elements(), element);
  }

  const CenterCropPadAttributes attributes_;
};

}  // namespace

void RegisterCenterCropPad(KernelRegistry& registry) {
  registry.Add(Op("CenterCropPad").Versions(18).Factory(MakeMovement<CenterCropPad>));
}

}  // namespace tessera::cpu
