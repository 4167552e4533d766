#include "opencl/gemm/quantized_operands.h"

#include "opencl/device/sources.h"
#include "opencl/gemm/panel_gemm.h"

namespace tessera::opencl {
namespace {

const Tensor* SingleValue(const Tensor* tensor, const char* name) {
  Require(tensor == nullptr || tensor->num_elements() == 1, "{} has {} values, 1 is expected", name,
          tensor == nullptr ? 0 : tensor->num_elements());
  return tensor;
}

cl_int StepOf(const Tensor* tensor, int64_t channels, const char* name) {
  if (tensor == nullptr || tensor->num_elements() == 1) return 0;
  Require(tensor->num_elements() == channels, "{} has {} values; 1 or {} are expected", name, tensor->num_elements(),
          channels);
  return 1;
}

/// Zero points as text: other ones give other forms of the same quantized values.
std::string TextOf(const Tensor* zeros) {
  if (zeros == nullptr) return "0";
  const auto* bytes = static_cast<const uint8_t*>(zeros->raw());
  const std::span values(bytes, static_cast<size_t>(zeros->num_elements()));
  const bool equal = std::ranges::all_of(values, [&](uint8_t value) { return value == values[0]; });
  return equal ? fmt::format("{}", values.empty() ? 0 : values[0]) : fmt::format("{}", fmt::join(values, " "));
}

/// Quantized values and their zero points (null: none), all of them constant.
struct ConstantQuantized {
  const Tensor* quantized;
  const Tensor* zeros;
};
std::optional<ConstantQuantized> ConstantQuantizedOf(const KernelInfo& info, int quantized, int zeros) {
  const auto constant = [&](int i) { return info.constant_input(static_cast<size_t>(i)); };
  const bool has_zeros = zeros >= 0 && info.has_input(static_cast<size_t>(zeros));
  const ConstantQuantized found{constant(quantized), has_zeros ? constant(zeros) : nullptr};
  if (found.quantized == nullptr || (has_zeros && (found.zeros == nullptr || found.zeros->num_elements() == 0)))
    return std::nullopt;
  return found;
}

int QuantizedAt(const Tensor& quantized, int64_t i) {
  const void* data = quantized.unaligned_raw();
  return quantized.type() == ElementType::kInt8 ? static_cast<const int8_t*>(data)[i]
                                                : static_cast<const uint8_t*>(data)[i];
}

/// The weights, then their sums; nothing where one needs more than a byte.
std::optional<std::vector<cl_uint>> QuadsOf(const ConstantQuantized& constant, const QuadWeights::Sizes& sizes) {
  const auto& [outer, k, inner, outer_channels] = sizes;
  const int64_t quads = PackedQuads::Quads(k), channels = outer_channels ? outer : inner;
  std::vector<int> zeros(static_cast<size_t>(channels));
  for (int64_t c = 0; constant.zeros != nullptr && c < channels; ++c) {
    zeros[static_cast<size_t>(c)] = QuantizedAt(*constant.zeros, constant.zeros->num_elements() == 1 ? 0 : c);
  }
  std::vector<cl_uint> result(static_cast<size_t>(outer * quads * inner + channels));
  cl_uint* channel_sums = result.data() + outer * quads * inner;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t step = 0; step < k; ++step) {
      cl_uint* to = result.data() + (o * quads + step / 4) * inner;
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t channel = outer_channels ? o : i;
        const int weight =
            QuantizedAt(*constant.quantized, (o * k + step) * inner + i) - zeros[static_cast<size_t>(channel)];
        if (weight < -128 || weight > 127) return std::nullopt;
        to[i] |= static_cast<cl_uint>(static_cast<uint8_t>(weight)) << (step % 4 * 8);
        channel_sums[channel] += static_cast<cl_uint>(weight);
      }
    }
  }
  return result;
}

}  // namespace

std::string QuantizedResult(ElementType type) {
  const bool is_signed = type == ElementType::kInt8;
  return Computed('Y', type) +
         fmt::format("#define LOWEST {}\n#define HIGHEST {}\n", is_signed ? -128 : 0, is_signed ? 127 : 255);
}

QuantizedInputs QuantizedInputsOf(const std::string& op) {
  if (op == "MatMulInteger" || op == "ConvInteger") return {0, 1, 2, 3, -1, -1, -1, -1, -1};
  if (op == "MatMulIntegerToFloat") return {0, 1, 4, 5, 2, 3, -1, -1, 6};
  if (op == "QGemm") return {0, 3, 2, 5, 1, 4, 7, 8, 6};
  return {0, 3, 2, 5, 1, 4, 6, 7, 8};  // QLinearMatMul, QLinearConv
}

Epilogue QuantizedEpilogue(const KernelInfo& info, bool channel_rows, bool quads) {
  const QuantizedInputs inputs = QuantizedInputsOf(info.node().op_type);
  const ElementType y = info.output_type(0);
  std::string text = channel_rows ? "#define CHANNEL_ROWS\n" : "";
  if (inputs.y_scale >= 0) {
    text += QuantizedResult(y) + Computed('S', info.input_type(static_cast<size_t>(inputs.a_scale))) +
            "#define STORE_QUANTIZED\n";
  } else {
    text += Computed('Y', y);
    text += inputs.a_scale >= 0 ? "#define STORE_REAL\n" : "#define STORE_SUM\n";
  }
  const bool unsigned_a = quads && info.input_type(static_cast<size_t>(inputs.a)) == ElementType::kUInt8;
  return {
      .defines = fmt::format("{}{}{}", unsigned_a ? "#define UNSIGNED_A\n" : "", text, KernelSource("quantized_epilogue")),
      .broadcasts = std::vector<Epilogue::Broadcast>(quads ? 7 : 5)};
}

QuantizedOperands::QuantizedOperands(const KernelContext& context, const QuantizedInputs& inputs, int64_t channels) {
  const auto input = [&](int i) { return i < 0 ? nullptr : context.input(static_cast<size_t>(i)); };
  a = input(inputs.a);
  b = input(inputs.b);
  a_zero = SingleValue(input(inputs.a_zero), "A's zero point");
  b_zero = input(inputs.b_zero);
  zero_step = StepOf(b_zero, channels, "B's zero point");
  const Tensor *b_scale = input(inputs.b_scale), *bias = input(inputs.bias);
  scale_step = StepOf(b_scale, channels, "B's scale");
  Require(bias == nullptr || bias->num_elements() == channels, "the bias has {} values, {} are expected",
          bias == nullptr ? 0 : bias->num_elements(), channels);
  results_ = {SingleValue(input(inputs.a_scale), "A's scale"), b_scale, SingleValue(input(inputs.y_scale), "Y's scale"),
              SingleValue(input(inputs.y_zero), "Y's zero point"), bias};
}

QuantizedPacking::QuantizedPacking(const KernelInfo& info, int quantized, int zeros, const char* kernel)
    : quantized_(quantized),
      zeros_(zeros),
      kernel_(DeviceOf(info), "matmul_integer",
              Computed('P', info.input_type(static_cast<size_t>(quantized))) +
                  fmt::format("#define COLUMNS {}\n#define ROWS {}\n#define PACK_ROWS {}\n#define PLANES {}\n", kPanel,
                              kBlockRows, kPackRows, kPlanes),
              kernel) {}

std::shared_ptr<const ConstantBlock> QuantizedPacking::OfConstant(const KernelInfo& info, std::string_view form,
                                                                  int64_t bytes, const Pack& pack) {
  const auto constant = ConstantQuantizedOf(info, quantized_, zeros_);
  if (!constant || bytes == 0) return nullptr;
  const auto [quantized, zeros] = *constant;
  return ConstantsOf(info).Form(*quantized, fmt::format("{} less {}", form, TextOf(zeros)), static_cast<size_t>(bytes),
                                [&, quantized, zeros](const BufferRange& packed) {
                                  const HostWeights from(DeviceOf(info), *quantized);
                                  std::optional<HostWeights> less;
                                  if (zeros != nullptr) less.emplace(DeviceOf(info), *zeros);
                                  pack(kernel_.Compile(), QueueOf(info), from.range(), less ? less->range() : BufferRange{},
                                       packed);
                                  Finish(QueueOf(info));
                                });
}

std::unique_ptr<const QuadWeights> QuadWeights::Make(const KernelInfo& info, const QuantizedInputs& inputs,
                                                     const Sizes& sizes) {
  if (DeviceOf(info).capabilities().int8_dots == Int8Dots::kNone) return nullptr;
  const auto constant = ConstantQuantizedOf(info, inputs.b, inputs.b_zero);
  if (!constant) return nullptr;
  const auto [quantized, zeros] = *constant;
  const int64_t channels = sizes.outer_channels ? sizes.outer : sizes.inner;
  if (quantized->num_elements() == 0 || quantized->num_elements() != sizes.outer * sizes.k * sizes.inner) return nullptr;
  if (zeros != nullptr && zeros->num_elements() != 1 && zeros->num_elements() != channels) return nullptr;
  const auto quads = QuadsOf(*constant, sizes);
  if (!quads) return nullptr;
  const size_t bytes = quads->size() * sizeof(cl_uint);
  const std::string form = fmt::format("quads of {} x {} x {} by {} less {}", sizes.outer, sizes.k, sizes.inner,
                                       sizes.outer_channels, TextOf(zeros));
  auto block = ConstantsOf(info).Form(*quantized, form, bytes, [&](const BufferRange& target) {
    Check(clEnqueueWriteBuffer(QueueOf(info), target.buffer, CL_TRUE, target.offset, bytes, quads->data(), 0, nullptr,
                               nullptr),
          "clEnqueueWriteBuffer");
  });
  info.ReleaseConstant(static_cast<size_t>(inputs.b));
  return std::unique_ptr<const QuadWeights>(
      new QuadWeights(std::move(block), bytes - static_cast<size_t>(channels) * sizeof(cl_uint)));
}

std::array<BufferRange, 2> QuadWeights::correction(const Tensor* zero) const {
  const BufferRange all = weights();
  return {zero == nullptr ? BufferRange{} : RangeOf(*zero), BufferRange{all.buffer, all.offset + weight_bytes_}};
}

void PackedQuads::Pack(KernelContext& context, const Tensor& quantized, BufferRange packed, int64_t channels,
                       int64_t inner) {
  const int64_t vectors = quantized.num_elements() / std::max<int64_t>(channels, 1);
  kernel_.Compile().Linear(context, vectors * Quads(channels), quantized, packed, cl_long{inner}, cl_long{channels});
}

std::string PairDefines() { return "#define PAIRS\n" + BlockDefines(ElementType::kInt32, "#define PACKED_A\n"); }

}  // namespace tessera::opencl
