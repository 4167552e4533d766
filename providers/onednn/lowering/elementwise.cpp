// Unary operators -> eltwise_forward; Add, Sub, Mul, Div -> binary; PRelu -> prelu_forward. Not Log and
// Softplus: oneDNN's are inexact near 0; not Max and Min: oneDNN's lose NaN, as do its Relu, Clip, Exp, Sigmoid and Elu,
// which are mended here; not Pow's square roots: oneDNN's are Sqrt's, of other zeros and infinities.

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "kernels/elementwise/swish.h"
#include "onednn/lowering/lowering.h"
#include "ops/activation/activation.h"
#include "ops/activation/clip.h"
#include "ops/activation/gelu.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/channels.h"

namespace tessera::onednn {
namespace {

using dnnl::algorithm;

template <class T>
constexpr double kNsPerNumber = std::is_same_v<T, float> ? 0.1 : 1;

std::optional<float> ScalarConstant(const GraphViewer& graph, const Node& node, size_t i) {
  if (i >= node.inputs.size() || node.inputs[i] == kNone) return std::nullopt;
  const Tensor* tensor = graph.constant(node.inputs[i]);
  if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
  if (tensor->is(ElementType::kBFloat16)) return static_cast<float>(tensor->values<BFloat16>()[0]);
  if (tensor->is(ElementType::kFloat16)) return static_cast<float>(tensor->values<Float16>()[0]);
  return tensor->is(ElementType::kFloat) ? std::optional(tensor->values<float>()[0]) : std::nullopt;
}

std::optional<Eltwise> AsClip(const GraphViewer& graph, const Node& node) {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  const ClipAttributes attributes(node);
  if (attributes.from_attributes) {
    low = attributes.low.value_or(low);
    high = attributes.high.value_or(high);
  } else {
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      const auto bound = ScalarConstant(graph, node, i);
      if (!bound) return std::nullopt;
      (i == 1 ? low : high) = *bound;
    }
  }
  return low <= high ? std::optional(Eltwise{algorithm::eltwise_clip, low, high}) : std::nullopt;
}

/// Between two bounds, of numbers however they lie.
template <class T>
class BoundStep final : public NativeStep {
 public:
  BoundStep(int64_t count, float low, float high) : count_(count), low_(low), high_(high) {}
  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    const auto* x = static_cast<const T*>(memories[0]);
    auto* y = static_cast<T*>(memories[1]);
    threads.ParallelFor(count_, kNsPerNumber<T>, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<T, float>) return cpu::ClipRow(x + begin, end - begin, low_, high_, y + begin);
      for (int64_t i = begin; i < end; ++i) {
        const auto number = static_cast<float>(x[i]);  // NaN is neither below nor above
        const float raised = number < low_ ? low_ : number;
        y[i] = static_cast<T>(raised > high_ ? high_ : raised);
      }
    });
  }

 private:
  int64_t count_;
  float low_, high_;
};

/// NaN wherever the operand is NaN.
template <class T>
class NanStep final : public NativeStep {
 public:
  explicit NanStep(int64_t count) : count_(count) {}
  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    const auto* x = static_cast<const T*>(memories[0]);
    auto* y = static_cast<T*>(memories[1]);
    threads.ParallelFor(count_, kNsPerNumber<T>, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<T, float>) return cpu::MarkNanRow(x + begin, end - begin, y + begin);
      for (int64_t i = begin; i < end; ++i) y[i] = std::isnan(static_cast<float>(x[i])) ? x[i] : y[i];
    });
  }

 private:
  int64_t count_;
};

template <template <class> class Step, class... Arguments>
std::shared_ptr<const NativeStep> StepOf(DataType type, Arguments... arguments) {
  if (type == DataType::bf16) return std::make_shared<Step<BFloat16>>(arguments...);
  if (type == DataType::f16) return std::make_shared<Step<Float16>>(arguments...);
  return std::make_shared<Step<float>>(arguments...);
}

/// How many numbers lie one after the other, all of them elements; 0 where others stand between them.
int64_t DenseCount(const Desc& layout) {
  const int64_t count = Elements(DimsOf(layout));
  return layout.get_size() == static_cast<size_t>(count) * (TypeOf(layout) == DataType::f32 ? 4 : 2) ? count : 0;
}

MemoryIndex InDenseLayout(ProgramBuilder& builder, MemoryIndex x) {
  const Desc layout = builder.desc(x);
  return DenseCount(layout) == 0 ? builder.InLayout(x, Plain(DimsOf(layout), TypeOf(layout))) : x;
}

MemoryIndex AddBounds(ProgramBuilder& builder, MemoryIndex x, float low, float high) {
  const MemoryIndex src = InDenseLayout(builder, x);
  const Desc layout = builder.desc(src);
  const MemoryIndex dst = builder.TakeOver(src) ? src : builder.Temporary(layout);
  builder.AddNative(StepOf<BoundStep>(TypeOf(layout), DenseCount(layout), low, high), {src, dst});
  return dst;
}

std::string RefuseUnary(const GraphViewer& graph, const Node& node) {
  return AsEltwise(graph, node) ? std::string() : "its parameters are not constants that oneDNN can take";
}

/// oneDNN rounds to integers in float32 only.
bool Computes(algorithm function, DataType type) { return function != algorithm::eltwise_round || type == DataType::f32; }

void LowerUnary(ProgramBuilder& builder, const Node& node) {
  RegionValue x = builder.input(node, 0);
  const Node* mul = builder.SwishOf(node);
  const Eltwise eltwise = mul == nullptr ? *AsEltwise(builder.region(), node) : Eltwise{algorithm::eltwise_swish, 1.0f};
  if (!Computes(eltwise.algorithm, TypeOf(builder.desc(x.memory)))) x.memory = builder.InPlainLayout(x);
  builder.SetOutput(mul == nullptr ? node : *mul, {x.dims, AddEltwise(builder, x.memory, eltwise)});
  if (mul != nullptr) builder.MarkDone(*mul);
}

/// max(0, min(1, alpha * x + beta)): oneDNN 2.6 has it in two steps.
void LowerHardSigmoid(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const ActivationAttributes attributes(node);
  const MemoryIndex linear = AddEltwise(builder, x.memory, {algorithm::eltwise_linear, attributes.alpha, attributes.beta});
  builder.SetOutput(node, {x.dims, AddEltwise(builder, linear, {algorithm::eltwise_clip, 0.0f, 1.0f})});
}

algorithm BinaryOf(const Node& node) {
  if (node.op_type == "Add" || node.op_type == "Sum") return algorithm::binary_add;
  if (node.op_type == "Sub") return algorithm::binary_sub;
  if (node.op_type == "Mul") return algorithm::binary_mul;
  return algorithm::binary_div;
}

bool Commutes(const Node& node) { return node.op_type == "Add" || node.op_type == "Sum" || node.op_type == "Mul"; }

/// Is `a`'s shape that of the result, whatever the symbols stand for?
bool Covers(const SymbolicShape& a, const SymbolicShape& b) {
  if (a.empty() || b.size() > a.size()) return false;
  for (size_t i = 0; i < b.size(); ++i) {
    const Dimension& da = a[a.size() - b.size() + i];
    const bool equal = (da.known() && da == b[i]) || (!da.symbol.empty() && da == b[i]);
    if (!equal && b[i].value != 1) return false;
  }
  return true;
}

std::string RefuseBinary(const GraphViewer& graph, const Node& node) {
  if (node.inputs.size() != 2) return "only two operands are lowered";
  const auto& a = *graph.value(node.inputs[0]).type.shape;
  const auto& b = *graph.value(node.inputs[1]).type.shape;
  if (Covers(a, b) || (Commutes(node) && Covers(b, a))) return {};
  return Commutes(node) ? "no operand is known to be of the result's shape"
                        : "the first operand is not known to be of the result's shape";
}

/// `left` and `right` (read in layout `right_desc`) to a result laid out as `left`, with an elementwise operator that
/// follows. False, and nothing done, where only a fast implementation will do and oneDNN has none.
bool AddBinary(ProgramBuilder& builder, const Node& node, const Dims& dims, MemoryIndex left, MemoryIndex right,
               const Desc& right_desc, bool only_fast) {
  const Desc layout = builder.desc(left);
  auto fusion = builder.FuseFollowers(node.outputs[0], dims);
  builder.Unfuse(fusion,
                 !fusion.ops.empty() && fusion.ops[0].eltwise && Computes(*fusion.ops[0].eltwise, TypeOf(layout)) ? 1 : 0);
  const auto pd = BinaryDesc(CpuEngine(), BinaryOf(node), layout, right_desc, layout, fusion.Attributes(layout));
  if (only_fast && std::string_view(pd.impl_info_str()).find("ref") != std::string_view::npos) {
    builder.Unfuse(fusion, 0);
    return false;
  }
  const MemoryIndex dst = builder.Temporary(layout);
  builder.AddInBoxes(dst, {left, builder.InLayout(right, right_desc)}, 1, [&](std::span<const MemoryIndex> part) {
    const Desc of_left = builder.desc(part[1]);
    const auto of_part =
        BinaryDesc(CpuEngine(), BinaryOf(node), of_left, builder.desc(part[2]), of_left, fusion.Attributes(of_left));
    const Desc scratchpad = of_part.scratchpad_desc();
    builder.Add(dnnl::binary(of_part), {{DNNL_ARG_SRC_0, part[1]}, {DNNL_ARG_SRC_1, part[2]}, {DNNL_ARG_DST, part[0]}},
                &scratchpad);
  });
  builder.SetFused(fusion, {dims, dst});
  return true;
}

/// One number for each channel of an image, as squeeze-and-excitation scales it: stays in the image's layout where oneDNN
/// has a fast path for it.
bool LowerChannelwise(ProgramBuilder& builder, const Node& node, const RegionValue& image, const RegionValue& numbers) {
  const size_t rank = image.dims.size();
  if (rank < 3 || rank > 5) return false;
  const Desc layout = builder.desc(image.memory);
  const DataType type = TypeOf(layout);
  const bool last = layout == Nhwc(image.dims, type);
  if (!last && layout != ChannelNchw8c(image.dims, type)) return false;
  if (numbers.dims[0] != image.dims[0] || numbers.dims[1] != image.dims[1]) return false;
  if (Elements(numbers.dims) != Elements({image.dims[0], image.dims[1]})) return false;
  const Desc wanted = last ? Nhwc(numbers.dims, type) : ChannelNchw8c(numbers.dims, type);
  return AddBinary(builder, node, image.dims, image.memory, numbers.memory, wanted, true);
}

void LowerBinary(ProgramBuilder& builder, const Node& node) {
  if (LowerChannelAffine(builder, node)) return;
  const auto& shapes = builder.region();
  const bool swap = !Covers(*shapes.value(node.inputs[0]).type.shape, *shapes.value(node.inputs[1]).type.shape);
  const RegionValue a = builder.input(node, swap ? 1 : 0), b = builder.input(node, swap ? 0 : 1);
  Dims b_dims = b.dims;
  b_dims.insert(b_dims.begin(), a.dims.size() - b_dims.size(), 1);
  for (size_t i = 0; i < a.dims.size(); ++i) {
    Require(b_dims[i] == a.dims[i] || b_dims[i] == 1, "operands of sizes {} and {} do not broadcast", a.dims[i], b_dims[i]);
  }
  MemoryIndex left = a.memory, right;
  if (b_dims == a.dims) {
    if (b.dims == b_dims) {
      right = builder.InLayout(b.memory, builder.desc(left));
    } else {
      right = builder.InLayout(builder.Alias(builder.InPlainLayout(b), Plain(b_dims)), builder.desc(left));
    }
  } else {
    const MemoryIndex numbers = b.dims == b_dims ? b.memory : builder.Alias(builder.InPlainLayout(b), Plain(b_dims));
    if (LowerChannelwise(builder, node, a, {b_dims, numbers})) return;
    // Other broadcasts go row-major: blocked layouts have few fast paths.
    left = builder.InPlainLayout(a);
    right = builder.Alias(builder.InPlainLayout(b), Plain(b_dims));
  }
  AddBinary(builder, node, a.dims, left, right, builder.desc(right), false);
}

std::string RefusePRelu(const GraphViewer& graph, const Node& node) {
  const auto &x = *graph.value(node.inputs[0]).type.shape, &slope = *graph.value(node.inputs[1]).type.shape;
  if (x.size() > 5) return "oneDNN has it for five dimensions at most";
  if (!Covers(x, slope)) return "the slope is not known to broadcast to the input";
  const Tensor* numbers = graph.constant(node.inputs[1]);
  return numbers != nullptr && AllFinite(*numbers)
             ? std::string()
             : "oneDNN multiplies slopes with what isn't negative too: they must be known and finite";
}

void LowerPRelu(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0), given = builder.input(node, 1);
  Dims slope = given.dims;
  slope.insert(slope.begin(), x.dims.size() - slope.size(), 1);
  for (size_t i = 0; i < slope.size(); ++i) {
    Require(slope[i] == x.dims[i] || slope[i] == 1, "a slope of size {} does not broadcast to {}", slope[i], x.dims[i]);
  }
  const MemoryIndex src = builder.InPlainLayout(x), slopes = builder.Alias(builder.InPlainLayout(given), Plain(slope));
  const MemoryIndex dst = builder.Temporary(Plain(x.dims));
  builder.AddInBoxes(dst, {src, slopes}, 1, [&](std::span<const MemoryIndex> part) {
    const auto pd = PReluDesc(CpuEngine(), builder.desc(part[1]), builder.desc(part[2]), OwnScratchpad());
    const Desc scratchpad = pd.scratchpad_desc();
    builder.Add(dnnl::prelu_forward(pd),
                {{DNNL_ARG_SRC, part[1]},
                 {DNNL_ARG_WEIGHTS, builder.InLayout(part[2], pd.weights_desc())},
                 {DNNL_ARG_DST, part[0]}},
                &scratchpad);
  });
  builder.SetOutput(node, {x.dims, dst});
}

constexpr Lowering kElementwiseLowerings[] = {
    {"Relu", 1, kLatestVersion, false, RefuseUnary, LowerUnary},
    {"LeakyRelu", 1, kLatestVersion, false, RefuseUnary, LowerUnary},
    {"Sigmoid", 1, kLatestVersion, false, RefuseUnary, LowerUnary},
    {"Tanh", 1, kLatestVersion, false, RefuseUnary, LowerUnary},
    {"Elu", 1, kLatestVersion, false, RefuseUnary, LowerUnary},
    {"Abs", 1, kLatestVersion, false, RefuseUnary, LowerUnary},
    {"Sqrt", 1, kLatestVersion, false, RefuseUnary, LowerUnary},
    {"Clip", 1, kLatestVersion, true, RefuseUnary, LowerUnary},
    {"HardSwish", 14, kLatestVersion, false, RefuseUnary, LowerUnary},
    {"HardSigmoid", 1, kLatestVersion, false, RefuseNothing, LowerHardSigmoid},
    {"Gelu", 20, kLatestVersion, false, RefuseUnary, LowerUnary},
    {"Add", 7, kLatestVersion, false, RefuseBinary, LowerBinary},
    {"Sum", 8, kLatestVersion, false, RefuseBinary, LowerBinary},
    {"Sub", 7, kLatestVersion, false, RefuseBinary, LowerBinary},
    {"Mul", 7, kLatestVersion, false, RefuseBinary, LowerBinary},
    {"Div", 7, kLatestVersion, false, RefuseBinary, LowerBinary},
    {"Pow", 7, kLatestVersion, false, RefuseUnary, LowerUnary, "", kOnlyFloats, kFloats, true},
    {"Exp", 6, kLatestVersion, false, RefuseUnary, LowerUnary, "", kOnlyFloats, kFloats, true},
    {"Neg", 6, kLatestVersion, false, RefuseUnary, LowerUnary, "", kOnlyFloats, kFloats, true},
    {"Reciprocal", 6, kLatestVersion, false, RefuseUnary, LowerUnary, "", kOnlyFloats, kFloats, true},
    {"Round", 11, kLatestVersion, false, RefuseUnary, LowerUnary, "", kOnlyFloats, kFloats, true},
    {"Mish", 18, kLatestVersion, false, RefuseUnary, LowerUnary, "", kOnlyFloats, kFloats, true},
    {"Swish", 24, kLatestVersion, false, RefuseUnary, LowerUnary, "", kOnlyFloats, kFloats, true},
    {"PRelu", 7, kLatestVersion, false, RefusePRelu, LowerPRelu, "", kOnlyFloats, kFloats, true}};

}  // namespace

std::span<const Lowering> ElementwiseLowerings() { return kElementwiseLowerings; }

std::optional<Eltwise> AsEltwise(const GraphViewer& graph, const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  const std::string& op = node.op_type;
  if (op == "Relu") return Eltwise{algorithm::eltwise_relu};
  if (op == "LeakyRelu") {
    const float alpha = ActivationAttributes(node).alpha;  // with 0 oneDNN computes Relu, which has a number for -inf
    return alpha != 0 ? std::optional(Eltwise{algorithm::eltwise_relu, alpha}) : std::nullopt;
  }
  if (op == "Sigmoid") return Eltwise{algorithm::eltwise_logistic};
  if (op == "Tanh") return Eltwise{algorithm::eltwise_tanh};
  if (op == "Elu") return Eltwise{algorithm::eltwise_elu, ActivationAttributes(node).alpha};
  if (op == "Abs") return Eltwise{algorithm::eltwise_abs};
  if (op == "Sqrt") return Eltwise{algorithm::eltwise_sqrt};
  if (op == "Clip") return AsClip(graph, node);
  if (op == "Exp") return Eltwise{algorithm::eltwise_exp};
  if (op == "Neg") return Eltwise{algorithm::eltwise_linear, -1.0f};
  if (op == "Reciprocal") return Eltwise{algorithm::eltwise_pow, 1.0f, -1.0f};
  if (op == "Round") return Eltwise{algorithm::eltwise_round};
  if (op == "Mish") return Eltwise{algorithm::eltwise_mish};
  if (op == "Swish") return Eltwise{algorithm::eltwise_swish, ActivationAttributes(node).alpha};
  if (op == "Pow") {
    const auto exponent = ScalarConstant(graph, node, 1);
    const bool is_root = exponent && *exponent == 0.5f;
    return exponent && !is_root && graph.constant(node.inputs[1])->shape().rank() == 0
               ? std::optional(Eltwise{algorithm::eltwise_pow, 1.0f, *exponent})
               : std::nullopt;
  }
#if DNNL_VERSION_MAJOR >= 3
  if (op == "HardSwish") return Eltwise{algorithm::eltwise_hardswish, 1.0f / 6, 0.5f};
#else
  if (op == "HardSwish") return Eltwise{algorithm::eltwise_hardswish};
#endif
  if (op == "Gelu") {
    const auto gelu = ValidAttributes<GeluAttributes>(node);
    if (!gelu) return std::nullopt;
    return Eltwise{gelu->tanh ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf};
  }
  return std::nullopt;
}

bool LosesNan(const Eltwise& eltwise) {
  switch (eltwise.algorithm) {
    case algorithm::eltwise_clip:
    case algorithm::eltwise_exp:
    case algorithm::eltwise_logistic:  // some instances only, as the exponential in it
    case algorithm::eltwise_elu: return true;
    case algorithm::eltwise_relu: return eltwise.alpha == 0;
    default: return false;
  }
}

MemoryIndex AddEltwise(ProgramBuilder& builder, MemoryIndex x, const Eltwise& eltwise) {
  if (eltwise.algorithm == algorithm::eltwise_clip) return AddBounds(builder, x, eltwise.alpha, eltwise.beta);
  if (eltwise.algorithm == algorithm::eltwise_relu && eltwise.alpha == 0)
    return AddBounds(builder, x, 0, std::numeric_limits<float>::infinity());
  const bool mends = LosesNan(eltwise);
  if (mends) x = InDenseLayout(builder, x);
  const Desc layout = builder.desc(x);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const MemoryIndex dst = builder.Temporary(layout);
  builder.AddInBoxes(dst, {x}, 4, [&](std::span<const MemoryIndex> part) {
    const auto of_part =
        EltwiseDesc(CpuEngine(), eltwise.algorithm, builder.desc(part[0]), eltwise.alpha, eltwise.beta, attr);
    const Desc scratchpad = of_part.scratchpad_desc();
    builder.Add(dnnl::eltwise_forward(of_part), {{DNNL_ARG_SRC, part[1]}, {DNNL_ARG_DST, part[0]}}, &scratchpad);
  });
  if (mends) builder.AddNative(StepOf<NanStep>(TypeOf(layout), DenseCount(layout)), {x, dst});
  return dst;
}

}  // namespace tessera::onednn
