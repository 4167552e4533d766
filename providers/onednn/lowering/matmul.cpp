// MatMul (1-13) and Gemm (7-13) -> matmul, with bias and following elementwise operators inside.

#include "base/cancellation.h"
#include "base/check.h"
#include "kernels/gemm/gemm.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/epilogue.h"
#include "onednn/program/implementations.h"
#include "onednn/program/shared_weights.h"
#include "ops/math/gemm.h"
#include "runtime/threads/openmp.h"

namespace tessera::onednn {
namespace {

/// One matmul of two matrices, or of two equally deep stacks of them.
struct MatMul {
  MemoryIndex a, b;
  Dims a_dims, b_dims, out;
  Desc b_desc;
  std::optional<MemoryIndex> bias;
};

/// The CPU provider's matmul, with weights packed once.
class MatMulStep final : public NativeStep {
 public:
  MatMulStep(int64_t m, int64_t n, int64_t k, const cpu::Activation<float>& activation, bool has_bias)
      : has_bias_(has_bias) {
    args_.m = m;
    args_.n = args_.out.row = n;
    args_.k = args_.lhs.row = k;
    args_.epilogue.activation = activation;
  }

  /// A, packed B, destination, then bias and residual as far as there are.
  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    cpu::GemmProblem<float> args = args_;
    args.lhs.data = static_cast<const float*>(memories[0]);
    args.rhs.packed = static_cast<const float*>(memories[1]);
    args.out.data = static_cast<float*>(memories[2]);
    const size_t residual = has_bias_ ? 4 : 3;
    if (has_bias_) args.epilogue.bias = static_cast<const float*>(memories[3]);
    if (residual < memories.size()) args.epilogue.residual = static_cast<const float*>(memories[residual]);
    cpu::Gemm(threads, args);
  }

 private:
  cpu::GemmProblem<float> args_;
  bool has_bias_;
};

/// oneDNN packs weights in advance for AVX-512 only; elsewhere it packs them in every run, and post-ops are a pass of their
/// own.
bool SuitsOwnMatMul(const ProgramBuilder& builder, const MatMul& p) {
  constexpr int64_t kFewestRows = 4;  // fewer read the weights once, where they lie
  return p.b_dims.size() == 2 && p.a_dims[0] >= kFewestRows && builder.constant(p.b) != nullptr;
}

void AddOwnMatMul(ProgramBuilder& builder, ValueIndex value, const MatMul& p, const Dims& result) {
  const int64_t m = p.a_dims[0], k = p.a_dims[1], n = p.b_dims[1];
  const Desc weights = builder.desc(p.b), packed = Plain({static_cast<int64_t>(cpu::PackedGemmBSize<float>(k, n))});
  const bool transposed = weights != Plain(p.b_dims);
  const auto panels = builder.weights().Converted(
      "packed", builder.constant(p.b), packed, [&](std::span<const float> from, std::span<float> to) {
        const int64_t width = cpu::GemmPanelWidth<float>(), b_k = transposed ? 1 : n, b_col = transposed ? k : 1;
        OpenMpFor(CeilDiv(n, width), [&](int64_t panel) {
          const int64_t column = panel * width;
          cpu::PackGemmPanel(from.data() + column * b_col, b_k, b_col, k, std::min(width, n - column),
                             to.data() + column * k);
        });
      });
  const Epilogue epilogue = TakeEpilogue(builder, value, result, Plain(result), {p.a});
  std::vector<MemoryIndex> memories = {p.a, builder.Constant(packed, panels), epilogue.destination};
  if (p.bias) memories.push_back(*p.bias);
  if (epilogue.residual) memories.push_back(*epilogue.residual);
  builder.AddNative(std::make_shared<MatMulStep>(m, n, k, epilogue.activation, p.bias.has_value()), memories);
  builder.SetFused(epilogue.fusion, {result, epilogue.destination});
}

struct MatMulMemories {
  MemoryIndex a, b, bias, out;  // bias: -1 for none
};

int PostOpOperand(size_t op) { return DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(op)) | DNNL_ARG_SRC_1; }

/// Stacks first, then rows and columns, of which few pay for the packing of the other operand.
std::vector<CutAxis> CutAxesOf(const MatMul& p) {
  const size_t rank = p.out.size();
  std::vector<CutAxis> axes = {{rank - 2, 256}, {rank - 1, 256}, {rank - 2, 16}, {rank - 1, 16}};
  for (size_t axis = rank - 2; axis-- > 0;) axes.insert(axes.begin(), {axis, 1});
  return axes;
}

/// One primitive for each box of the matmul; false, and nothing done, where the layouts do not allow them.
bool AddInParts(ProgramBuilder& builder, std::span<const Box> boxes, const MatMulMemories& m,
                std::span<const MemoryIndex> operands, const ProgramBuilder::Fusion& fusion) {
  struct PartOfMatMul {
    MatMulMemories memories;
    std::vector<MemoryIndex> operands;
  };
  const size_t row = boxes[0].count.size() - 2, column = row + 1;
  const int64_t depth = builder.dims(m.a).back();
  std::vector<PartOfMatMul> parts;
  for (const Box& box : boxes) {
    CancellationPoint();
    Box a = box, b = box;
    a.first[column] = b.first[row] = 0;
    a.count[column] = b.count[row] = depth;
    const auto part_a = builder.Part(m.a, a), part_b = builder.Part(m.b, b), out = builder.Part(m.out, box);
    const auto bias =
        m.bias < 0 ? std::optional(m.bias) : builder.Part(m.bias, Box{{0, box.first[column]}, {1, box.count[column]}});
    if (!part_a || !part_b || !out || !bias) return false;
    parts.push_back({{*part_a, *part_b, *bias, *out}, {}});
    for (const MemoryIndex operand : operands) {
      const auto part = builder.Part(operand, box);
      if (!part) return false;
      parts.back().operands.push_back(*part);
    }
  }
  for (const auto& [part, part_operands] : parts) {
    CancellationPoint();
    const Desc out = builder.desc(part.out), bias = part.bias < 0 ? Desc() : builder.desc(part.bias);
    const auto pd = MatmulDesc(CpuEngine(), builder.desc(part.a), builder.desc(part.b), part.bias < 0 ? nullptr : &bias,
                               out, fusion.Attributes(out));
    std::vector<std::pair<int, MemoryIndex>> arguments = {
        {DNNL_ARG_SRC, part.a}, {DNNL_ARG_WEIGHTS, part.b}, {DNNL_ARG_DST, part.out}};
    if (part.bias >= 0) arguments.emplace_back(DNNL_ARG_BIAS, part.bias);
    for (size_t i = 0, operand = 0; i < fusion.ops.size(); ++i) {
      if (!fusion.ops[i].eltwise) arguments.emplace_back(PostOpOperand(i), part_operands[operand++]);
    }
    const Desc scratchpad = pd.scratchpad_desc();
    builder.Add(dnnl::matmul(pd), std::move(arguments), &scratchpad);
  }
  return true;
}

/// The bias or zeros: oneDNN would leave the output of a matmul without products as it is.
MemoryIndex SumOfNothing(ProgramBuilder& builder, const MatMul& p, const Dims& result) {
  const std::vector<float> zeros(static_cast<size_t>(Elements(p.out)), 0);
  if (!p.bias) return builder.Alias(builder.Constant(p.out, zeros), Plain(result));
  const MemoryIndex dst = builder.Temporary(Plain(result));
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto pd =
      BinaryDesc(CpuEngine(), dnnl::algorithm::binary_add, Plain(p.out), builder.desc(*p.bias), Plain(p.out), attr);
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(dnnl::binary(pd),
              {{DNNL_ARG_SRC_0, builder.Constant(p.out, zeros)}, {DNNL_ARG_SRC_1, *p.bias}, {DNNL_ARG_DST, dst}},
              &scratchpad);
  return dst;
}

void AddBatchedMatMul(ProgramBuilder& builder, const Node& node, MatMul p, const Dims& result) {
  const int64_t count = Elements(p.out);
  builder.CountOperations(2.0 * static_cast<double>(count) * static_cast<double>(p.a_dims.back()));
  if (count == 0) return builder.SetOutput(node, {result, builder.Temporary(Plain(result))});
  if (p.a_dims.back() == 0) return builder.SetOutput(node, {result, SumOfNothing(builder, p, result)});
  ValueIndex value = node.outputs[0];
  if (!p.bias && p.out.size() == 2) p.bias = builder.FollowBias(value, p.out[1]);
  if (!builder.rounds() && SuitsOwnMatMul(builder, p)) return AddOwnMatMul(builder, value, p, result);
  const Desc bias = p.bias ? builder.desc(*p.bias) : Desc();
  const auto fusion = builder.FuseFollowers(value, result);
  // Results stay row-major: what follows a matmul (Reshape, Transpose, Softmax) reads rows.
  const auto out_type = [&](DataType type) {
    return builder.half_precision() || builder.FeedsMatMuls(fusion.result) ? type : DataType::f32;
  };
  const auto describe = [&](DataType type) {
    const bool constant = builder.constant(p.b) != nullptr;
    const Desc b = type == DataType::f32 ? p.b_desc : constant ? AnyLayout(p.b_dims, type) : Plain(p.b_dims, type);
    const Desc out = Plain(p.out, out_type(type));
    return MatmulDesc(CpuEngine(), Plain(p.a_dims, type), b, p.bias ? &bias : nullptr, out, fusion.Attributes(out));
  };
  const DataType type = OperandType(builder, p.a_dims.back(), describe);
  const auto pd =
      DescribeWanted<dnnl::matmul>(builder, node, p.a, fusion, p.bias ? &bias : nullptr, [&] { return describe(type); });
  const Desc out = Plain(p.out, out_type(type));
  const MemoryIndex dst = builder.Temporary(Plain(result, out_type(type)));
  const MatMulMemories memories{builder.InLayout(p.a, Plain(p.a_dims, type)), builder.InLayout(p.b, pd.weights_desc()),
                                p.bias.value_or(-1), builder.Alias(dst, out)};
  std::vector<MemoryIndex> operands;  // of the post-ops
  for (const auto& op : fusion.ops) {
    if (!op.eltwise)
      operands.push_back(builder.Alias(builder.InLayout(op.operand.memory, Plain(result, out_type(type))), out));
  }
  const double ns = GemmNs(2.0 * static_cast<double>(count) * static_cast<double>(p.a_dims.back()), pd.impl_info_str());
  const auto boxes = BoxesOf(p.out, CutAxesOf(p), ns);
  if (boxes.size() > 1 && AddInParts(builder, boxes, memories, operands, fusion))
    return builder.SetFused(fusion, {result, dst});
  std::vector<std::pair<int, MemoryIndex>> arguments = {
      {DNNL_ARG_SRC, memories.a}, {DNNL_ARG_WEIGHTS, memories.b}, {DNNL_ARG_DST, memories.out}};
  if (p.bias) arguments.emplace_back(DNNL_ARG_BIAS, *p.bias);
  for (size_t i = 0, operand = 0; i < fusion.ops.size(); ++i) {
    if (!fusion.ops[i].eltwise) arguments.emplace_back(PostOpOperand(i), operands[operand++]);
  }
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(dnnl::matmul(pd), std::move(arguments), &scratchpad);
  builder.SetFused(fusion, {result, dst});
}

std::string RefuseMatMul(const GraphViewer& graph, const Node& node) {
  const auto& a = graph.value(node.inputs[0]).type.shape;
  const auto& b = graph.value(node.inputs[1]).type.shape;
  if (a->size() < 2 || b->size() < 2) return "vector operands are left to the CPU provider";
  if (b->size() > 2 && a->size() != b->size()) return "stacks of different depth are left to the CPU provider";
  for (size_t i = 0; b->size() > 2 && i + 2 < b->size(); ++i) {
    // Stacks that may broadcast against each other in either direction.
    if (!((*a)[i].known() && (*a)[i] == (*b)[i]) && !(!(*a)[i].symbol.empty() && (*a)[i] == (*b)[i])) {
      return "the stacks' sizes are not known to be equal";
    }
  }
  return {};
}

/// Row-major, rounded where it is already.
MemoryIndex FirstOperand(ProgramBuilder& builder, const RegionValue& a, const Dims& dims) {
  const DataType type = TypeOf(builder.desc(a.memory));
  return builder.Alias(builder.InLayout(a.memory, Plain(a.dims, type)), Plain(dims, type));
}

void LowerMatMul(ProgramBuilder& builder, const Node& node) {
  const RegionValue a = builder.input(node, 0), b = builder.input(node, 1);
  const auto k = a.dims.back(), n = b.dims.back();
  Require(b.dims[b.dims.size() - 2] == k, "K is {} in A and {} in B", k, b.dims[b.dims.size() - 2]);
  Dims result = a.dims;
  result.back() = n;
  const bool weights = builder.constant(node, 1) != nullptr;
  MatMul p;
  p.b_dims = b.dims;
  if (b.dims.size() == 2) {
    // One matrix for every stack: a single tall matmul.
    const int64_t rows = Elements(Dims(a.dims.begin(), a.dims.end() - 1));
    p.a_dims = {rows, k};
    p.out = {rows, n};
    p.b_desc = weights ? AnyLayout(b.dims) : Plain(b.dims);
  } else {
    for (size_t i = 0; i + 2 < a.dims.size(); ++i) {
      Require(a.dims[i] == b.dims[i], "stacks of {} and {} matrices do not match", a.dims[i], b.dims[i]);
    }
    p.a_dims = a.dims;
    p.out = result;
    p.b_desc = Plain(b.dims);
  }
  p.a = FirstOperand(builder, a, p.a_dims);
  p.b = builder.InRows(b);
  AddBatchedMatMul(builder, node, std::move(p), result);
}

std::string RefuseGemm(const GraphViewer& graph, const Node& node) {
  const auto& a = graph.value(node.inputs[0]).type.shape;
  const auto& b = graph.value(node.inputs[1]).type.shape;
  if (a->size() != 2 || b->size() != 2) return "A and B need 2 dimensions";
  const GemmAttributes attributes(node);
  if (attributes.trans_a) return "a transposed A is left to the CPU provider";
  if (attributes.alpha != 1) return "alpha other than 1 is left to the CPU provider";
  if (node.inputs.size() > 2 && node.inputs[2] != kNone) {
    if (attributes.beta != 1) return "beta other than 1 is left to the CPU provider";
    const auto& c = graph.value(node.inputs[2]).type.shape;
    const bool row = c->size() == 1 || (c->size() == 2 && (*c)[0].value == 1);
    if (!row || !c->back().known() || c->back() != (*b)[attributes.trans_b ? 0 : 1]) return "C is not one bias a column";
  }
  return {};
}

void LowerGemm(ProgramBuilder& builder, const Node& node) {
  const RegionValue a = builder.input(node, 0), b = builder.input(node, 1);
  const GemmAttributes attributes(node);
  const bool trans_b = attributes.trans_b;
  const auto [m, n, k] = attributes.Infer(Shape(a.dims), Shape(b.dims));
  MatMul p;
  p.a = FirstOperand(builder, a, a.dims);
  p.a_dims = a.dims;
  p.b_dims = {k, n};
  p.out = {m, n};
  const auto given = [&, k = k](DataType type) {
    return trans_b ? Desc(p.b_dims, type, Dims{1, k}) : Plain(p.b_dims, type);
  };
  const MemoryIndex rows = builder.InRows(b);
  p.b = builder.Alias(rows, given(TypeOf(builder.desc(rows))));
  p.b_desc = builder.constant(node, 1) != nullptr ? AnyLayout(p.b_dims) : given(DataType::f32);
  if (builder.has_input(node, 2)) p.bias = builder.Alias(builder.InPlainLayout(builder.input(node, 2)), Plain({1, n}));
  AddBatchedMatMul(builder, node, std::move(p), {m, n});
}

constexpr Lowering kMatMulLowerings[] = {{"MatMul", 1, kLatestVersion, false, RefuseMatMul, LowerMatMul},
                                         {"Gemm", 7, kLatestVersion, false, RefuseGemm, LowerGemm}};

}  // namespace

std::span<const Lowering> MatMulLowerings() { return kMatMulLowerings; }

}  // namespace tessera::onednn
