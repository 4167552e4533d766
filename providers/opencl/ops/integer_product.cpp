// Products of bytes: MatMulInteger (10), QLinearMatMul (10, 21), com.microsoft MatMulIntegerToFloat (1), ConvInteger (10),
// QLinearConv (10). One scale and zero point for A and Y; one, or one a channel, for B. The optimizer's QuantizedLookup.

#include "base/rounding.h"
#include "kernel.h"
#include "ops/nn/matmul_shape.h"
#include "window.h"

namespace tessera::opencl {
namespace {

constexpr TypeSet kBytes = {ElementType::kInt8, ElementType::kUInt8};
constexpr size_t kIntegerTile = 16, kIntegerPer = 4;

/// Where an operator has its inputs; -1: it has none.
struct Places {
  int a, b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero, bias;
};

Places PlacesOf(const std::string& op) {
  if (op == "MatMulInteger" || op == "ConvInteger") return {0, 1, 2, 3, -1, -1, -1, -1, -1};
  if (op == "MatMulIntegerToFloat") return {0, 1, 4, 5, 2, 3, -1, -1, 6};
  return {0, 3, 2, 5, 1, 4, 6, 7, 8};  // QLinearMatMul, QLinearConv
}

std::string IntegerDefines(const KernelInfo& info) {
  const Places places = PlacesOf(info.node().op_type);
  const auto input = [&](int i) { return info.input_type(static_cast<size_t>(i)); };
  const ElementType y = info.output_type(0);
  std::string text = Computed('A', input(places.a)) + Computed('B', input(places.b)) + Computed('Y', y);
  text += fmt::format("#define TILE {}\n#define PER {}\n", kIntegerTile, kIntegerPer);
  if (places.y_scale >= 0) {
    const bool is_signed = y == ElementType::kInt8;
    return text + Computed('S', input(places.a_scale)) +
           fmt::format("#define STORE_CODE\n#define LOWEST {}\n#define HIGHEST {}\n", is_signed ? -128 : 0, is_signed ? 127 : 255);
  }
  return text + (places.a_scale >= 0 ? "#define STORE_REAL\n" : "#define STORE_SUM\n");
}

struct Steps {
  cl_int b_zero = 0, b_scale = 0;
};

/// The operands of one run, checked: `channels` of B.
struct Operands {
  Operands(KernelContext& context, const Places& places, int64_t channels, int64_t biases) {
    const auto input = [&](int i) { return i < 0 ? nullptr : context.input(static_cast<size_t>(i)); };
    a = input(places.a);
    b = input(places.b);
    a_zero = Single(input(places.a_zero), "A's zero point");
    b_zero = PerChannel(input(places.b_zero), channels, "B's zero point", steps.b_zero);
    a_scale = Single(input(places.a_scale), "A's scale");
    b_scale = PerChannel(input(places.b_scale), channels, "B's scale", steps.b_scale);
    y_scale = Single(input(places.y_scale), "Y's scale");
    y_zero = Single(input(places.y_zero), "Y's zero point");
    bias = input(places.bias);
    Require(bias == nullptr || bias->num_elements() == biases, "the bias has {} values, {} are expected",
            bias == nullptr ? 0 : bias->num_elements(), biases);
  }

  static const Tensor* Single(const Tensor* tensor, const char* name) {
    Require(tensor == nullptr || tensor->num_elements() == 1, "{} has {} values, 1 is expected", name,
            tensor == nullptr ? 0 : tensor->num_elements());
    return tensor;
  }
  static const Tensor* PerChannel(const Tensor* tensor, int64_t channels, const char* name, cl_int& step) {
    if (tensor == nullptr) return nullptr;
    step = tensor->num_elements() == 1 ? 0 : 1;
    Require(step == 0 || tensor->num_elements() == channels, "{} has {} values; 1 or {} are expected", name, tensor->num_elements(), channels);
    return tensor;
  }

  const Tensor *a, *b, *a_zero, *b_zero, *a_scale, *b_scale, *y_scale, *y_zero, *bias;
  Steps steps;
};

class IntegerProduct final : public Kernel {
 public:
  explicit IntegerProduct(const KernelInfo& info)
      : kernel_(DeviceOf(info), "integer_product", IntegerDefines(info), "product"), places_(PlacesOf(info.node().op_type)) {}

  void Compute(KernelContext& context) override {
    const Shape& a = context.required_input(static_cast<size_t>(places_.a)).shape();
    const Shape& b = context.required_input(static_cast<size_t>(places_.b)).shape();
    const cpu::MatMulShape shape = cpu::InferMatMulShape(a, b);
    const Operands o(context, places_, shape.n, shape.n);
    const Tensor& y = *context.output(0, shape.output);
    if (y.num_elements() == 0) return;
    const auto batch_of = [](const Shape& s) { return Shape(s.dims().first(s.rank() < 2 ? 0 : s.rank() - 2)); };
    Strided stack = Block(shape.batch);
    stack.a = BroadcastStrides(batch_of(a), shape.batch);
    stack.b = BroadcastStrides(batch_of(b), shape.batch);
    for (size_t i = 0; i < shape.batch.rank(); ++i) {
      stack.a[i] *= shape.m * shape.k;
      stack.b[i] *= shape.k * shape.n;
    }
    const auto up = [](int64_t size) { return (static_cast<size_t>(size) + kIntegerTile - 1) / kIntegerTile; };
    kernel_(context, {up(shape.n) * kIntegerTile, up(shape.m) * (kIntegerTile / kIntegerPer), static_cast<size_t>(shape.batch.num_elements())},
            {kIntegerTile, kIntegerTile / kIntegerPer, 1}, o.a, o.b, o.a_zero, o.b_zero, o.a_scale, o.b_scale, o.y_scale, o.y_zero, o.bias, y, o.steps,
            cl_long{shape.m}, cl_long{shape.n}, cl_long{shape.k}, stack);
  }

 private:
  Launchable kernel_;
  Places places_;
};

class IntegerConv final : public Kernel {
 public:
  explicit IntegerConv(const KernelInfo& info)
      : kernel_(DeviceOf(info), "integer_product", IntegerDefines(info), "convolve"),
        places_(PlacesOf(info.node().op_type)),
        window_(info.node()),
        group_(info.attribute<int64_t>("group", 1)) {}

  void Compute(KernelContext& context) override {
    const Shape& xs = context.required_input(static_cast<size_t>(places_.a)).shape();
    const Shape& ws = context.required_input(static_cast<size_t>(places_.b)).shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5 && ws.rank() == xs.rank(), "input {} and weights {} need the same 3 to 5 dimensions",
            xs, ws);
    Require(group_ > 0 && xs[1] == ws[1] * group_ && ws[0] % group_ == 0, "input {} in group {} does not fit weights {}", xs,
            group_, ws);
    const Operands o(context, places_, ws[0], ws[0]);
    const Window window = window_.Fit(xs.dims().subspan(2), ws.dims().subspan(2));
    Shape ys{xs[0], ws[0]};
    for (const int64_t size : window.output) ys.Append(size);
    const Tensor& y = *context.output(0, ys);
    if (y.num_elements() == 0) return;
    const Geometry g = ConvGeometry(window, xs, ws, group_);
    constexpr int64_t kFilters = kIntegerPer;
    kernel_.Grid(context, ys.SizeOfRange(2, ys.rank()), group_ * CeilDiv(g.group_out, kFilters), xs[0], o.a, o.b, o.a_zero,
                 o.b_zero, o.a_scale, o.b_scale, o.y_scale, o.y_zero, o.bias, y, o.steps, g);
  }

 private:
  Launchable kernel_;
  Places places_;
  WindowAttributes window_;
  int64_t group_;
};

/// Bytes looked up by the bytes of a tensor: a Gather from a table of 256 that needs no check.
class QuantizedLookup final : public Kernel {
 public:
  explicit QuantizedLookup(const KernelInfo& info)
      : kernel_(DeviceOf(info), "gather", Moved('X', ElementType::kUInt8) + Computed('I', ElementType::kUInt8), "gather") {}

  void Compute(KernelContext& context) override {
    const Tensor& codes = context.required_input(0);
    const Tensor& table = context.required_input(1);
    Require(table.num_elements() == 256, "the table has {} values, 256 are expected", table.num_elements());
    const Tensor& y = *context.output(0, codes.shape());
    kernel_.Linear(context, codes.num_elements(), table, codes, y, cl_long{256}, cl_long{codes.num_elements()}, cl_long{1});
  }

 private:
  Launchable kernel_;
};

}  // namespace

void RegisterIntegerProduct(KernelRegistry& registry) {
  constexpr TypeSet kScales = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};
  registry.Add(Op("MatMulInteger").Versions(10).Types(0, kBytes).Types(1, kBytes).Make<IntegerProduct>());
  registry.Add(Op("MatMulIntegerToFloat", "com.microsoft")
                   .Types(0, kBytes)
                   .Types(1, kBytes)
                   .Types(2, {ElementType::kFloat})
                   .Types(3, {ElementType::kFloat})
                   .Make<IntegerProduct>());
  registry.Add(Op("QLinearMatMul").Versions(10).Types(0, kBytes).Types(1, kScales).Types(3, kBytes).OutputTypes(0, kBytes).Make<IntegerProduct>());
  registry.Add(Op("ConvInteger").Versions(10).Types(0, kBytes).Types(1, kBytes).Make<IntegerConv>());
  registry.Add(Op("QLinearConv").Versions(10).Types(0, kBytes).Types(3, kBytes).OutputTypes(0, kBytes).Make<IntegerConv>());
  registry.Add(Op("QuantizedLookup", "tessera").Types(0, kBytes).Types(1, {ElementType::kUInt8}).OutputTypes(0, kBytes).Make<QuantizedLookup>());
}

}  // namespace tessera::opencl
