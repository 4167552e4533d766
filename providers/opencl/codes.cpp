#include "codes.h"

#include "product.h"
#include "sources.h"

namespace tessera::opencl {
namespace {

const Tensor* SingleValue(const Tensor* tensor, const char* name) {
  Require(tensor == nullptr || tensor->num_elements() == 1, "{} has {} values, 1 is expected", name, tensor == nullptr ? 0 : tensor->num_elements());
  return tensor;
}

cl_int StepOf(const Tensor* tensor, int64_t channels, const char* name) {
  if (tensor == nullptr || tensor->num_elements() == 1) return 0;
  Require(tensor->num_elements() == channels, "{} has {} values; 1 or {} are expected", name, tensor->num_elements(), channels);
  return 1;
}

/// Zero points as text: other ones give other forms of the same codes.
std::string TextOf(const Tensor* zeros) {
  if (zeros == nullptr) return "0";
  const auto* bytes = static_cast<const uint8_t*>(zeros->raw());
  const std::span values(bytes, static_cast<size_t>(zeros->num_elements()));
  const bool equal = std::ranges::all_of(values, [&](uint8_t value) { return value == values[0]; });
  return equal ? fmt::format("{}", values.empty() ? 0 : values[0]) : fmt::format("{}", fmt::join(values, " "));
}

}  // namespace

CodePlaces CodePlacesOf(const std::string& op) {
  if (op == "MatMulInteger" || op == "ConvInteger") return {0, 1, 2, 3, -1, -1, -1, -1, -1};
  if (op == "MatMulIntegerToFloat") return {0, 1, 4, 5, 2, 3, -1, -1, 6};
  return {0, 3, 2, 5, 1, 4, 6, 7, 8};  // QLinearMatMul, QLinearConv
}

Epilogue ResultsOfCodes(const KernelInfo& info, bool channel_rows, bool quads) {
  const CodePlaces places = CodePlacesOf(info.node().op_type);
  const ElementType y = info.output_type(0);
  std::string text = Computed('Y', y) + (channel_rows ? "#define CHANNEL_ROWS\n" : "");
  if (places.y_scale >= 0) {
    const bool is_signed = y == ElementType::kInt8;
    text += Computed('S', info.input_type(static_cast<size_t>(places.a_scale))) +
            fmt::format("#define STORE_CODE\n#define LOWEST {}\n#define HIGHEST {}\n", is_signed ? -128 : 0, is_signed ? 127 : 255);
  } else {
    text += places.a_scale >= 0 ? "#define STORE_REAL\n" : "#define STORE_SUM\n";
  }
  const bool unsigned_a = info.input_type(static_cast<size_t>(places.a)) == ElementType::kUInt8;
  return {.defines = fmt::format("{}{}{}", unsigned_a ? "#define UNSIGNED_A\n" : "", text, KernelSource("code_sums")), .places = std::vector<Epilogue::Place>(quads ? 7 : 5)};
}

CodeOperands::CodeOperands(const KernelContext& context, const CodePlaces& places, int64_t channels) {
  const auto input = [&](int i) { return i < 0 ? nullptr : context.input(static_cast<size_t>(i)); };
  a = input(places.a);
  b = input(places.b);
  a_zero = SingleValue(input(places.a_zero), "A's zero point");
  b_zero = input(places.b_zero);
  zero_step = StepOf(b_zero, channels, "B's zero point");
  const Tensor *b_scale = input(places.b_scale), *bias = input(places.bias);
  scale_step = StepOf(b_scale, channels, "B's scale");
  Require(bias == nullptr || bias->num_elements() == channels, "the bias has {} values, {} are expected", bias == nullptr ? 0 : bias->num_elements(),
          channels);
  results_ = {SingleValue(input(places.a_scale), "A's scale"), b_scale, SingleValue(input(places.y_scale), "Y's scale"),
              SingleValue(input(places.y_zero), "Y's zero point"), bias};
}

CodePacking::CodePacking(const KernelInfo& info, int codes, int zeros, const char* kernel)
    : codes_(codes),
      zeros_(zeros),
      kernel_(DeviceOf(info), "integer_product",
              Computed('P', info.input_type(static_cast<size_t>(codes))) +
                  fmt::format("#define COLUMNS {}\n#define ROWS {}\n#define LINES {}\n#define PLANES {}\n", kPanel, kBlockRows, kLines, kPlanes),
              kernel) {}

std::shared_ptr<const ConstantBlock> CodePacking::OfConstant(const KernelInfo& info, std::string_view form, int64_t bytes, const Pack& pack) {
  const auto constant = [&](int i) { return i < 0 || !info.has_input(static_cast<size_t>(i)) ? nullptr : info.constant_input(static_cast<size_t>(i)); };
  const Tensor *codes = constant(codes_), *zeros = constant(zeros_);
  const bool has_zeros = zeros_ >= 0 && info.has_input(static_cast<size_t>(zeros_));
  if (codes == nullptr || (has_zeros && (zeros == nullptr || zeros->num_elements() == 0)) || bytes == 0) return nullptr;
  return ConstantsOf(info).Form(*codes, fmt::format("{} less {}", form, TextOf(zeros)), static_cast<size_t>(bytes), [&](const BufferRange& packed) {
    const HostWeights from(DeviceOf(info), *codes);
    std::optional<HostWeights> less;
    if (zeros != nullptr) less.emplace(DeviceOf(info), *zeros);
    pack(kernel_.Compile(), QueueOf(info), from.range(), less ? less->range() : BufferRange{}, packed);
    Finish(QueueOf(info));
  });
}

namespace {

int CodeAt(const Tensor& codes, int64_t i) {
  const void* data = codes.unaligned_raw();
  return codes.type() == ElementType::kInt8 ? static_cast<const int8_t*>(data)[i] : static_cast<const uint8_t*>(data)[i];
}

/// The weights, then their sums; nothing where one needs more than a byte.
std::optional<std::vector<cl_uint>> QuadsOf(const Tensor& codes, const Tensor* zeros, const QuadWeights::Sizes& sizes) {
  const auto& [outer, k, inner, outer_channels] = sizes;
  const int64_t quads = QuadCodes::Quads(k);
  std::vector<cl_uint> result(static_cast<size_t>(outer * quads * inner + (outer_channels ? outer : inner)));
  cl_uint* sums = result.data() + outer * quads * inner;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t step = 0; step < k; ++step) {
      cl_uint* to = result.data() + (o * quads + step / 4) * inner;
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t channel = outer_channels ? o : i;
        const int zero = zeros == nullptr ? 0 : CodeAt(*zeros, zeros->num_elements() == 1 ? 0 : channel);
        const int weight = CodeAt(codes, (o * k + step) * inner + i) - zero;
        if (weight < -128 || weight > 127) return std::nullopt;
        to[i] |= static_cast<cl_uint>(static_cast<uint8_t>(weight)) << (step % 4 * 8);
        sums[channel] += static_cast<cl_uint>(weight);
      }
    }
  }
  return result;
}

}  // namespace

std::unique_ptr<const QuadWeights> QuadWeights::Make(const KernelInfo& info, const CodePlaces& places, const Sizes& sizes) {
  const auto has = [&](int i) { return i >= 0 && info.has_input(static_cast<size_t>(i)); };
  const auto constant = [&](int i) { return has(i) ? info.constant_input(static_cast<size_t>(i)) : nullptr; };
  const Tensor *codes = constant(places.b), *zeros = constant(places.b_zero);
  const int64_t channels = sizes.outer_channels ? sizes.outer : sizes.inner;
  if (DeviceOf(info).capabilities().byte_dots == ByteDots::kNone || codes == nullptr) return nullptr;
  if (codes->num_elements() == 0 || codes->num_elements() != sizes.outer * sizes.k * sizes.inner) return nullptr;
  if (has(places.b_zero) && (zeros == nullptr || (zeros->num_elements() != 1 && zeros->num_elements() != channels))) return nullptr;
  const auto quads = QuadsOf(*codes, zeros, sizes);
  if (!quads) return nullptr;
  const size_t bytes = quads->size() * sizeof(cl_uint);
  const std::string form = fmt::format("quads of {} x {} x {} by {} less {}", sizes.outer, sizes.k, sizes.inner, sizes.outer_channels, TextOf(zeros));
  auto block = ConstantsOf(info).Form(*codes, form, bytes, [&](const BufferRange& target) {
    Check(clEnqueueWriteBuffer(QueueOf(info), target.buffer, CL_TRUE, target.offset, bytes, quads->data(), 0, nullptr, nullptr), "clEnqueueWriteBuffer");
  });
  info.ReleaseConstant(static_cast<size_t>(places.b));
  return std::unique_ptr<const QuadWeights>(new QuadWeights(std::move(block), bytes - static_cast<size_t>(channels) * sizeof(cl_uint)));
}

std::array<BufferRange, 2> QuadWeights::correction(const Tensor* zero) const {
  const BufferRange all = weights();
  return {zero == nullptr ? BufferRange{} : RangeOf(*zero), BufferRange{all.buffer, all.offset + weight_bytes_}};
}

void QuadCodes::Pack(KernelContext& context, const Tensor& codes, BufferRange packed, int64_t channels, int64_t inner) {
  const int64_t lines = codes.num_elements() / std::max<int64_t>(channels, 1);
  kernel_.Compile().Linear(context, lines * Quads(channels), codes, packed, cl_long{inner}, cl_long{channels});
}

std::string PairDefines() { return "#define PAIRS\n" + BlockDefines(ElementType::kInt32, "#define PACKED_A\n"); }

}  // namespace tessera::opencl
