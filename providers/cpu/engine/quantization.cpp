#include "cpu/engine/quantization.h"

#include "cpu/engine/cast.h"

namespace tessera::cpu {

QuantizationInputs::QuantizationInputs(KernelContext& context, ElementType type, const QuantizeLinearAttributes& attributes)
    : x(context.required_input(0)),
      scale(context.required_input(1)),
      zero(context.input(2)),
      layout(x.shape(), scale.shape(), attributes.axis, attributes.block_size) {
  Require(x.type() == type, "input 0 is tensor({}), expected tensor({})", ElementTypeName(x.type()), ElementTypeName(type));
}

const float* ReadScales(KernelContext& context, const Tensor& scales) {
  if (scales.type() == ElementType::kFloat) return scales.data<float>();
  const auto values = context.scratch<float>(static_cast<size_t>(scales.num_elements()));
  ElementCast(scales.type(), ElementType::kFloat).Run(scales.raw(), 0, values.data(), 0, scales.num_elements());
  return values.data();
}

template <class V>
const V* ReadZeroPoints(KernelContext& context, const Tensor* zeros, ElementType type, int64_t scale_count) {
  const auto values = context.scratch<V>(static_cast<size_t>(scale_count));
  if (zeros == nullptr) {
    std::fill(values.begin(), values.end(), V{0});
    return values.data();
  }
  Require(zeros->type() == type, "zero point is tensor({}), expected tensor({})", ElementTypeName(zeros->type()),
          ElementTypeName(type));
  const int64_t count = zeros->num_elements();
  Require(count == scale_count || count == 1, "zero point of shape {} for {} scales", zeros->shape(), scale_count);
  ElementCast(type, ElementTypeOf<V>).Run(zeros->raw(), 0, values.data(), 0, std::min(count, scale_count));
  if (count < scale_count) std::fill(values.begin() + 1, values.end(), values[0]);
  return values.data();
}

template const float* ReadZeroPoints<float>(KernelContext&, const Tensor*, ElementType, int64_t);
template const int32_t* ReadZeroPoints<int32_t>(KernelContext&, const Tensor*, ElementType, int64_t);

}  // namespace tessera::cpu
