#include "opencl/ops/linear_quantization.h"

#include <string>

#include "ops/quantization/quantize_linear.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in quantization.cl.
struct Layout {
  cl_long count, inner, block, blocks;
  cl_int single, padding = 0;
};

const char* LowestQuantized(ElementType type) {
  switch (type) {
    case ElementType::kInt8: return "-128";
    case ElementType::kInt16: return "-32768";
    case ElementType::kInt4: return "-8";
    case ElementType::kInt2: return "-2";
    default: return "0";
  }
}
const char* HighestQuantized(ElementType type) {
  switch (type) {
    case ElementType::kInt8: return "127";
    case ElementType::kUInt8: return "255";
    case ElementType::kInt16: return "32767";
    case ElementType::kInt4: return "7";
    case ElementType::kUInt4: return "15";
    case ElementType::kInt2: return "1";
    case ElementType::kUInt2: return "3";
    default: return "65535";
  }
}

/// What quotients are rounded to: the attribute's type, or the one that both operands have.
std::string Rounding(const KernelInfo& info) {
  const QuantizeLinearAttributes attributes(info.node());
  const ElementType x = info.input_type(0);
  const ElementType type = attributes.precision != 0 ? attributes.rounding()
                           : x == info.input_type(1) ? x
                                                     : ElementType::kFloat;
  return type == ElementType::kFloat16    ? "rounded_to_half(v)"
         : type == ElementType::kBFloat16 ? "rounded_to_bfloat16(v)"
                                          : "(v)";
}

std::string QuantizedDefines(const KernelInfo& info, bool quantizes) {
  const ElementType quantized = quantizes ? info.output_type(0) : info.input_type(0);
  std::string text =
      Computed('X', info.input_type(0)) + Computed('S', info.input_type(1)) + Computed('Y', info.output_type(0));
  if (kFloat8s.contains(quantized))
    text += fmt::format("#define FLOAT8\n#define SATURATE {}\n", QuantizeLinearAttributes(info.node()).saturate ? 1 : 0);
  if (quantizes && kPackedIntegers.contains(quantized)) text += fmt::format("#define BITS {}\n", BitWidth(quantized));
  if (info.has_input(2)) text += "#define HAS_ZERO\n";
  if (!quantizes && kQuantized.contains(quantized)) text += "#define DIFFERENCE int\n";
  if (quantizes)
    text += fmt::format("#define ROUND(v) {}\n#define LOWEST {}\n#define HIGHEST {}\n", Rounding(info),
                        LowestQuantized(quantized), HighestQuantized(quantized));
  return text;
}

class LinearQuantization final : public Kernel {
 public:
  explicit LinearQuantization(const KernelInfo& info)
      : quantizes_(info.node().op_type == "QuantizeLinear"),
        packed_(kPackedIntegers.contains(quantizes_ ? info.output_type(0) : info.input_type(0))),
        kernel_(DeviceOf(info), "quantization", QuantizedDefines(info, quantizes_), quantizes_ ? "quantize" : "dequantize"),
        all_(DeviceOf(info), "quantization", QuantizedDefines(info, quantizes_),
             quantizes_ ? "quantize_all" : "dequantize_all"),
        attributes_(info.node()) {
    const auto scale = KnownShape(info.input_info(1));
    if (!packed_ && (!scale || scale->num_elements() == 1)) all_.Compile();
    if (packed_ || !scale || scale->num_elements() != 1) kernel_.Compile();
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& scale = context.required_input(1);
    const Tensor* zero = context.input(2);
    const QuantizationLayout fitted(x.shape(), scale.shape(), attributes_.axis, attributes_.block_size);
    const Layout layout{fitted.count(), fitted.inner(), fitted.block(), fitted.blocks(), fitted.single()};
    const Tensor& y = *context.output(0, x.shape());
    const int64_t zeros = zero == nullptr ? 1 : zero->num_elements();
    const ElementType quantized = (quantizes_ ? y : x).type();
    Require(zero == nullptr || zero->type() == quantized, "the zero point is tensor({}), expected tensor({})",
            zero == nullptr ? "" : ElementTypeName(zero->type()), ElementTypeName(quantized));
    Require(zeros == 1 || zeros == scale.num_elements(), "there are {} zero points for {} scales", zeros,
            scale.num_elements());
    const int64_t count = x.num_elements();
    if (layout.single != 0 && !packed_) return all_.Compile().Linear(context, count, x, scale, zero, y);
    // Packed quantized values are written by the byte.
    const int64_t items = quantizes_ && packed_ ? static_cast<int64_t>(y.byte_size()) : count;
    kernel_.Compile().Linear(context, items, x, scale, zero, y, layout, static_cast<cl_int>(zeros == 1), cl_long{count});
  }

 private:
  bool quantizes_, packed_;
  LazyLaunchable kernel_, all_;
  QuantizeLinearAttributes attributes_;
};

}  // namespace

std::unique_ptr<Kernel> MakeLinearQuantization(const KernelInfo& info) {
  return std::make_unique<LinearQuantization>(info);
}

}  // namespace tessera::opencl
