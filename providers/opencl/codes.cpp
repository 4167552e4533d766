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

Epilogue ResultsOfCodes(const KernelInfo& info, bool channel_rows) {
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
  return {.defines = text + std::string(KernelSource("code_sums")), .places = std::vector<Epilogue::Place>(5)};
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

std::string PairDefines() { return "#define PAIRS\n" + BlockDefines(ElementType::kInt32, "#define PACKED_A\n"); }

}  // namespace tessera::opencl
