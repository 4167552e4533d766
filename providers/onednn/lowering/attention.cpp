// Attention (23), with neither past nor window -> matmul, a softmax of our own, which knows masks that leave nothing, and
// matmul.

#include <limits>
#include <optional>

#include "base/check.h"
#include "kernels/normalize/softmax.h"
#include "onednn/lowering/lowering.h"
#include "ops/attention/attention.h"

namespace tessera::onednn {
namespace {

enum Input : size_t { kQ, kK, kV, kMask, kFirstOther };

std::string RefuseAttention(const GraphViewer& graph, const Node& node) {
  for (size_t i = kFirstOther; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNone) return "a past or lengths are left to the CPU provider";
  }
  const AttentionAttributes attributes(node);
  if (attributes.softcap != 0) return "capped scores are left to the CPU provider";
  if (attributes.left != -1 || attributes.right != -1) return "windows of keys are left to the CPU provider";
  for (const size_t i : {kQ, kK, kV}) {
    if (i >= node.inputs.size() || node.inputs[i] == kNone) return "an operand is missing";
    const size_t rank = graph.value(node.inputs[i]).type.shape->size();
    const bool has_heads = (i == kQ ? attributes.q_heads : attributes.kv_heads) > 0;
    if (rank != 4 && (rank != 3 || !has_heads)) return "an operand has neither 4 dimensions nor 3 and a number of heads";
  }
  if (node.inputs.size() <= kMask || node.inputs[kMask] == kNone) return {};
  const size_t rank = graph.value(node.inputs[kMask]).type.shape->size();
  return rank < 1 || rank > 4 ? "its mask has not 1 to 4 dimensions" : std::string();
}

Dims DimsOf(const HeadSizes& s) { return {s.batch, s.heads, s.rows, s.width}; }

/// [batch, heads, rows, width] where heads lie side by side in each row.
Desc SideBySide(const HeadSizes& s) {
  return Desc(DimsOf(s), DataType::f32, Dims{s.rows * s.heads * s.width, s.width, s.heads * s.width, 1});
}

/// An input as plain [batch, heads, rows, width].
MemoryIndex AddHeads(ProgramBuilder& builder, const RegionValue& value, const HeadSizes& s) {
  const MemoryIndex plain = builder.InPlainLayout(value);
  return value.dims.size() == 4 ? plain : builder.InLayout(builder.Alias(plain, SideBySide(s)), Plain(DimsOf(s)));
}

/// Rows of scores, scaled and masked, to what each key counts; where the mask leaves none, zeros.
class MaskedSoftmaxStep final : public NativeStep {
 public:
  MaskedSoftmaxStep(const Dims& scores, const AttentionAttributes& attributes, int64_t width,
                    const std::optional<MaskDims>& mask)
      : scores_(scores), scale_(static_cast<float>(attributes.Scale(width))), causal_(attributes.causal), mask_(mask) {}

  /// Scores, results and perhaps a mask.
  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    constexpr double kNsPerScore = 0.5;
    const auto* scores = static_cast<const float*>(memories[0]);
    auto* results = static_cast<float*>(memories[1]);
    const float* mask = mask_ ? static_cast<const float*>(memories[2]) : nullptr;
    const int64_t keys = scores_[3];
    threads.ParallelFor(
        scores_[0] * scores_[1] * scores_[2], kNsPerScore * static_cast<double>(keys), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row)
            RunRow(row, scores + row * keys, mask == nullptr ? nullptr : mask + MaskRow(row), results + row * keys);
        });
  }

 private:
  int64_t MaskRow(int64_t row) const {
    const int64_t query = row % scores_[2], head = row / scores_[2] % scores_[1], batch = row / scores_[2] / scores_[1];
    const MaskDims& d = *mask_;
    const auto at = [&](size_t axis, int64_t index) { return d[axis] == 1 ? 0 : index; };
    return ((at(0, batch) * d[1] + at(1, head)) * d[2] + at(2, query)) * d[3];
  }

  void RunRow(int64_t row, const float* scores, const float* mask, float* out) const {
    constexpr float kNothing = -std::numeric_limits<float>::infinity();
    const int64_t keys = scores_[3];
    int64_t seen = causal_ ? std::min(keys, row % scores_[2] + 1) : keys;
    if (mask != nullptr) seen = std::min(seen, (*mask_)[3]);
    bool sees = false;
    for (int64_t i = 0; i < seen; ++i) {
      out[i] = scores[i] * scale_ + (mask == nullptr ? 0.0f : mask[i]);
      sees = sees || out[i] != kNothing;  // NaN, too
    }
    std::fill(out + (sees ? seen : 0), out + keys, 0.0f);
    if (sees) cpu::SoftmaxKernelsF32().rows(out, out, 1, seen, false);
  }

  Dims scores_;  // batch, heads, queries, keys
  float scale_;
  bool causal_;
  std::optional<MaskDims> mask_;  // of numbers that are added; keys beyond are not seen
};

/// a times b, stacks of [.., m, k] and [.., k, n], the latter as `b_strides` say; perhaps of rounded operands.
MemoryIndex AddStackedMatMul(ProgramBuilder& builder, MemoryIndex a, const Dims& a_dims, MemoryIndex b, const Dims& b_dims,
                             const Dims& b_strides) {
  const Dims out = {a_dims[0], a_dims[1], b_dims[2]};
  builder.CountOperations(2.0 * static_cast<double>(Elements(out)) * static_cast<double>(a_dims[2]));
  const auto describe = [&](DataType type) {
    return MatmulDesc(CpuEngine(), Plain(a_dims, type), Desc(b_dims, type, b_strides), nullptr, Plain(out),
                      OwnScratchpad());
  };
  const DataType type = OperandType(builder, a_dims[2], describe);
  const MemoryIndex dst = builder.Temporary(Plain(out)),
                    left = builder.InLayout(builder.Alias(a, Plain(a_dims)), Plain(a_dims, type)),
                    right = builder.InLayout(builder.Alias(b, Desc(b_dims, DataType::f32, b_strides)),
                                             Desc(b_dims, type, b_strides));
  const double ns =
      GemmNs(2.0 * static_cast<double>(Elements(out)) * static_cast<double>(a_dims[2]), describe(type).impl_info_str());
  builder.AddInBoxes(dst, {left, right}, {{0}}, ns, [&](std::span<const MemoryIndex> part) {
    const auto pd = MatmulDesc(CpuEngine(), builder.desc(part[1]), builder.desc(part[2]), nullptr, builder.desc(part[0]),
                               OwnScratchpad());
    const Desc scratchpad = pd.scratchpad_desc();
    builder.Add(dnnl::matmul(pd), {{DNNL_ARG_SRC, part[1]}, {DNNL_ARG_WEIGHTS, part[2]}, {DNNL_ARG_DST, part[0]}},
                &scratchpad);
  });
  return dst;
}

/// What each key counts for each query: [batch, query heads, queries, keys].
MemoryIndex AddWeights(ProgramBuilder& builder, const Node& node, const AttentionAttributes& attributes,
                       const AttentionSizes& sizes, MemoryIndex queries, MemoryIndex keys) {
  const Dims scores = {sizes.batch, sizes.query_heads, sizes.queries, sizes.keys};
  std::optional<MaskDims> mask;
  if (builder.has_input(node, kMask)) {
    mask = ReadMask(Shape(builder.input(node, kMask).dims));
    CheckMask(*mask, sizes, false);
  }
  MemoryIndex scores_memory;
  if (sizes.width == 0) {
    scores_memory = builder.Constant(scores, std::vector<float>(static_cast<size_t>(Elements(scores)), 0.0f));
  } else {
    // Queries of all heads that share a head of keys are rows of one matmul.
    const int64_t stacks = sizes.batch * sizes.kv_heads, rows = sizes.query_heads / sizes.kv_heads * sizes.queries;
    scores_memory = AddStackedMatMul(builder, queries, {stacks, rows, sizes.width}, keys, {stacks, sizes.width, sizes.keys},
                                     {sizes.keys * sizes.width, 1, sizes.width});
  }
  const MemoryIndex result = builder.Temporary(Plain(scores));
  std::vector<MemoryIndex> memories = {scores_memory, result};
  if (mask) memories.push_back(builder.InPlainLayout(builder.input(node, kMask)));
  builder.AddNative(std::make_shared<MaskedSoftmaxStep>(scores, attributes, sizes.width, mask), memories);
  return result;
}

void LowerAttention(ProgramBuilder& builder, const Node& node) {
  const RegionValue q_value = builder.input(node, kQ), k_value = builder.input(node, kK), v_value = builder.input(node, kV);
  const AttentionAttributes attributes(node);
  const HeadSizes q = ReadHeads(Shape(q_value.dims), attributes.q_heads, nullptr, "Q"),
                  k = ReadHeads(Shape(k_value.dims), attributes.kv_heads, nullptr, "K"),
                  v = ReadHeads(Shape(v_value.dims), attributes.kv_heads, nullptr, "V"), y = ResultHeads(q, v);
  const AttentionSizes sizes = CombineHeads(q, k, v, 0);
  const Shape shape = ShapeOf(y);
  const Dims result(shape.begin(), shape.end());
  (void)Shape(result).num_elements();  // refuses what no memory holds
  (void)Shape({q.batch, q.heads, q.rows, k.rows}).num_elements();
  if (Elements(result) == 0 || k.rows == 0) {
    return builder.SetOutput(
        node, {result, builder.Constant(result, std::vector<float>(static_cast<size_t>(Elements(result)), 0.0f))});
  }
  const MemoryIndex weights =
      AddWeights(builder, node, attributes, sizes, AddHeads(builder, q_value, q), AddHeads(builder, k_value, k));
  const int64_t stacks = k.batch * k.heads;
  const MemoryIndex weighted_values =
      AddStackedMatMul(builder, weights, {stacks, q.heads / k.heads * q.rows, k.rows}, AddHeads(builder, v_value, v),
                       {stacks, k.rows, v.width}, {k.rows * v.width, v.width, 1});
  const MemoryIndex heads = builder.Alias(weighted_values, Plain(DimsOf(y)));
  builder.SetOutput(node,
                    {result, y.packed ? builder.Alias(builder.InLayout(heads, SideBySide(y)), Plain(result)) : heads});
}

constexpr Lowering kAttentionLowerings[] = {
    {"Attention", 23, kLatestVersion, false, RefuseAttention, LowerAttention, "", kOnlyFloats, kFloats, true}};

}  // namespace

std::span<const Lowering> AttentionLowerings() { return kAttentionLowerings; }

}  // namespace tessera::onednn
