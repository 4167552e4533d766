// Unary, binary and ternary elementwise operators, Cast: one expression of OpenCL C each, in the table below.

#include "kernel.h"

namespace tessera::opencl {
namespace {

struct Expression {
  const char* op_type;
  int version;
  const char* text;  // over a, b, c, alpha, beta
  TypeSet types;     // of the inputs that are computed with
  float alpha = 0, beta = 0;
  bool boolean_result = false;
};

// Float functions take their text's precision from OpenCL's full profile: at most 4 ulp for all used here but erf (16).
constexpr Expression kUnary[] = {
    {"Relu", 6, "fmax(a, 0.0f)", kFloat32},
    {"Sigmoid", 6, "sigmoid_(a)", kFloat32},
    {"Tanh", 6, "tanh(a)", kFloat32},
    {"Exp", 6, "exp(a)", kFloat32},
    {"Log", 6, "log(a)", kFloat32},
    {"Sqrt", 6, "sqrt(a)", kFloat32},
    {"Reciprocal", 6, "1.0f / a", kFloat32},
    {"Erf", 9, "erf_(a)", kFloat32},
    {"Floor", 6, "floor(a)", kFloat32},
    {"Ceil", 6, "ceil(a)", kFloat32},
    {"Round", 11, "rint(a)", kFloat32},
    {"Sin", 7, "sin(a)", kFloat32},
    {"Cos", 7, "cos(a)", kFloat32},
    {"Abs", 6, "fabs(a)", kFloat32},
    {"Neg", 6, "-a", TypeSet{ElementType::kFloat, ElementType::kInt32, ElementType::kInt64}},
    {"Softplus", 1, "a > 20.0f ? a : log1p(exp(a))", kFloat32},
    {"Softsign", 1, "a / (1.0f + fabs(a))", kFloat32},
    {"HardSwish", 14, "a * fmax(0.0f, fmin(1.0f, a / 6.0f + 0.5f))", kFloat32},
    {"LeakyRelu", 6, "a < 0 ? a * alpha : a", kFloat32, 0.01f},
    {"Elu", 6, "a < 0 ? alpha * expm1(a) : a", kFloat32, 1.0f},
    {"HardSigmoid", 6, "fmax(0.0f, fmin(1.0f, a * alpha + beta))", kFloat32, 0.2f, 0.5f},
    {"Not", 1, "!a", TypeSet{ElementType::kBool}},
};

constexpr Expression kBinary[] = {
    {"Add", 7, "a + b", kDeviceNumbers},
    {"Sub", 7, "a - b", kDeviceNumbers},
    {"Mul", 7, "a * b", kDeviceNumbers},
    {"Div", 7, "a / b", kFloat32},
    {"Pow", 7, "pow(a, b)", kFloat32},
    {"PRelu", 7, "a < 0 ? a * b : a", kFloat32},
    {"And", 7, "a && b", TypeSet{ElementType::kBool}, 0, 0, true},
    {"Or", 7, "a || b", TypeSet{ElementType::kBool}, 0, 0, true},
    {"Equal", 7, "a == b", kDeviceNumbers, 0, 0, true},
    {"Greater", 7, "a > b", kDeviceNumbers, 0, 0, true},
    {"Less", 7, "a < b", kDeviceNumbers, 0, 0, true},
    {"GreaterOrEqual", 12, "a >= b", kDeviceNumbers, 0, 0, true},
    {"LessOrEqual", 12, "a <= b", kDeviceNumbers, 0, 0, true},
};

std::string Defines(const KernelInfo& info, const char* text) {
  const auto type = [&](size_t i) { return TypeName(info.has_input(i) ? info.input_type(i) : info.input_type(0)); };
  return fmt::format("#define TA {}\n#define TB {}\n#define TC {}\n#define TY {}\n#define OP {}\n", type(0), type(1), type(2),
                     TypeName(info.output_type(0)), text);
}

class Elementwise : public Kernel {
 public:
  Elementwise(const KernelInfo& info, const char* text, float alpha, float beta)
      : flat_(DeviceOf(info), "elementwise", Defines(info, text), "flat"),
        broadcast_(DeviceOf(info), "elementwise", Defines(info, text), "broadcast"),
        alpha_(alpha),
        beta_(beta) {}

  void Compute(KernelContext& context) override {
    const size_t count = std::min<size_t>(context.num_inputs(), 3);
    const Tensor* in[3];
    Shape result = context.required_input(0).shape();
    for (size_t i = 0; i < 3; ++i) {
      in[i] = i < count ? &context.required_input(i) : &context.required_input(0);
      result = Broadcast(result, in[i]->shape());
    }
    Tensor& y = *context.output(0, result);
    const int64_t total = y.num_elements();
    const auto step = [&](const Tensor& t) { return t.num_elements() == total ? 1 : t.num_elements() == 1 ? 0 : -1; };
    const cl_int a = step(*in[0]), b = step(*in[1]), c = step(*in[2]);
    if (a >= 0 && b >= 0 && c >= 0) return flat_.Linear(context, total, *in[0], *in[1], *in[2], y, a, b, c, alpha_, beta_);
    Strided s;
    s.rank = static_cast<cl_int>(result.rank());
    std::copy(result.begin(), result.end(), s.dims.begin());
    s.a = BroadcastStrides(in[0]->shape(), result);
    s.b = BroadcastStrides(in[1]->shape(), result);
    s.c = BroadcastStrides(in[2]->shape(), result);
    broadcast_.Linear(context, total, *in[0], *in[1], *in[2], y, s, alpha_, beta_);
  }

 private:
  static Shape Broadcast(const Shape& a, const Shape& b) {
    Shape result(std::max(a.rank(), b.rank()), 1);
    Require(result.rank() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", result.rank(), kMostDims);
    for (const Shape* shape : {&a, &b}) {
      const size_t shift = result.rank() - shape->rank();
      for (size_t i = 0; i < shape->rank(); ++i) {
        int64_t& dim = result[shift + i];
        Require((*shape)[i] == 1 || dim == 1 || dim == (*shape)[i], "shapes {} and {} do not broadcast", a.ToString(), b.ToString());
        if ((*shape)[i] != 1) dim = (*shape)[i];
      }
    }
    return result;
  }

  Launchable flat_, broadcast_;
  float alpha_, beta_;
};

template <const Expression* Table, size_t I>
std::unique_ptr<Kernel> MakeExpression(const KernelInfo& info) {
  return std::make_unique<Elementwise>(info, Table[I].text, info.attribute<float>("alpha", Table[I].alpha),
                                       info.attribute<float>("beta", Table[I].beta));
}

template <const Expression* Table, size_t... I>
void AddTable(KernelRegistry& registry, size_t inputs, std::index_sequence<I...>) {
  const auto add = [&](const Expression& e, KernelFactory factory) {
    KernelDef def = Op(e.op_type).Versions(e.version).Factory(factory);
    for (size_t input = 0; input < inputs; ++input) def.Types(input, e.types);
    if (!e.boolean_result) def.InPlace(0, 0);
    registry.Add(std::move(def));
  };
  (add(Table[I], MakeExpression<Table, I>), ...);
}

std::unique_ptr<Kernel> MakeGelu(const KernelInfo& info) {
  const bool tanh = info.attribute<std::string>("approximate", "none") == "tanh";
  return std::make_unique<Elementwise>(info, tanh ? "gelu_tanh_(a)" : "gelu_(a)", 0, 0);
}
std::unique_ptr<Kernel> MakeWhere(const KernelInfo& info) { return std::make_unique<Elementwise>(info, "a ? b : c", 0, 0); }
std::unique_ptr<Kernel> MakeCast(const KernelInfo& info) {
  return std::make_unique<Elementwise>(info, info.output_type(0) == ElementType::kBool ? "a != 0" : "a", 0, 0);
}

/// Clip with bounds as attributes, or as inputs in host memory.
class Clip final : public Kernel {
 public:
  explicit Clip(const KernelInfo& info)
      : kernel_(DeviceOf(info), "elementwise",
                "#define TA float\n#define TB float\n#define TC float\n#define TY float\n#define OP fmin(fmax(a, alpha), beta)\n", "flat"),
        low_(info.attribute<float>("min", -std::numeric_limits<float>::infinity())),
        high_(info.attribute<float>("max", std::numeric_limits<float>::infinity())) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const float low = Bound(context.input(1), low_), high = Bound(context.input(2), high_);
    Tensor& y = *context.output(0, x.shape());
    kernel_.Linear(context, x.num_elements(), x, x, x, y, cl_int{1}, cl_int{1}, cl_int{1}, low, high);
  }

 private:
  static float Bound(const Tensor* tensor, float fallback) {
    if (tensor == nullptr) return fallback;
    Require(tensor->num_elements() == 1, "a bound is {}, not one number", tensor->shape().ToString());
    return tensor->data<float>()[0];
  }

  Launchable kernel_;
  float low_, high_;
};

}  // namespace

void RegisterElementwise(KernelRegistry& registry) {
  AddTable<kUnary>(registry, 1, std::make_index_sequence<std::size(kUnary)>());
  AddTable<kBinary>(registry, 2, std::make_index_sequence<std::size(kBinary)>());
  registry.Add(Op("Gelu").Versions(20).Types(0, kFloat32).InPlace(0, 0).Factory(MakeGelu));
  registry.Add(Op("Where").Versions(9).Types(1, kMovable).Types(2, kMovable).Factory(MakeWhere));
  constexpr TypeSet kCastable = {ElementType::kFloat, ElementType::kInt32, ElementType::kInt64, ElementType::kBool};
  registry.Add(Op("Cast").Versions(6).Types(0, kCastable).OutputTypes(0, kCastable).Factory(MakeCast));
  registry.Add(Op("Clip").Versions(6).Types(0, kFloat32).HostInput(1).HostInput(2).InPlace(0, 0).Make<Clip>());
}

}  // namespace tessera::opencl
