// ConstantOfShape (9, 20, 21, 23, 24, 25): a tensor of the given shape, every element `value`.

#include "ops/movement/constant_of_shape.h"

#include "cpu/engine/on_texts.h"
#include "cpu/engine/packed.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class ConstantOfShape final : public Kernel {
 public:
  explicit ConstantOfShape(const KernelInfo& info) : value_(ConstantOfShapeAttributes(info.node()).value) {
    if (!IsPacked(value_.type())) return;
    const int bits = BitWidth(value_.type());
    unsigned bits_of_value = *static_cast<const uint8_t*>(value_.raw()) & ((1u << bits) - 1);
    for (int filled = bits; filled < 8; filled *= 2) bits_of_value |= bits_of_value << filled;
    packed_byte_ = static_cast<uint8_t>(bits_of_value);
  }

  void Compute(KernelContext& context) override {
    const Shape shape = ConstantOfShapeAttributes::ResultShape(context.required_input(0));
    if (value_.is(ElementType::kString)) {
      const auto texts = context.scratch<std::string_view>(static_cast<size_t>(shape.num_elements()));
      FillCancellably(texts.data(), static_cast<int64_t>(texts.size()), std::string_view(*value_.data<std::string>()));
      return WriteTexts(context, 0, shape, texts);
    }
    Tensor* output = context.output(0, value_.type(), shape);
    if (!IsPacked(value_.type())) {
      return FillParallel(context.threads(), output->mutable_raw(), value_.raw(), output->num_elements(),
                          KindOf(value_.type()));
    }
    const auto bytes = static_cast<int64_t>(output->byte_size());
    FillParallel(context.threads(), output->mutable_raw(), &packed_byte_, bytes, {1, false});
    const int64_t unused_bits = bytes * 8 - output->num_elements() * BitWidth(value_.type());
    if (unused_bits > 0)
      static_cast<uint8_t*>(output->mutable_raw())[bytes - 1] &= static_cast<uint8_t>(0xFF >> unused_bits);
  }

 private:
  Tensor value_;
  uint8_t packed_byte_ = 0;
};

}  // namespace

void RegisterConstantOfShape(KernelRegistry& registry) {
  registry.Add(Op("ConstantOfShape").Versions(9).Make<ConstantOfShape>());
}

}  // namespace tessera::cpu
