// Attention, com.microsoft, version 1: one matmul projects the input to queries, keys and values.

#include "cpu/ops/microsoft/attention_parts.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/packed_matrices.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/attention/attention_scale.h"

namespace tessera::cpu {
namespace {

template <class T>
class Attention final : public Kernel {
 public:
  explicit Attention(const KernelInfo& info)
      : heads_(info.attribute<int64_t>("num_heads")),
        causal_(info.attribute<int64_t>("unidirectional", 0) != 0),
        scale_(info.attribute<float>("scale", 0.0f)),
        filter_(info.attribute<float>("mask_filter_value", -10000.0f)) {
    Require(heads_ > 0, "num_heads is {}", heads_);
    Require(info.attribute<int64_t>("do_rotary", 0) == 0, "do_rotary is not supported; GroupQueryAttention has it");
    Require(info.attribute<int64_t>("past_present_share_buffer", 0) == 0 && !info.has_input(6),
            "past and present cannot share a buffer");
    const auto sizes = info.attribute<std::vector<int64_t>>("qkv_hidden_sizes", {});
    Require(sizes.empty() || sizes.size() == 3, "qkv_hidden_sizes has {} elements; 3 are expected", sizes.size());
    if (!sizes.empty()) std::copy_n(sizes.begin(), 3, hidden_);
    const Tensor* weights = info.constant_input(1);
    if (weights == nullptr || weights->shape().rank() != 2 || weights->num_elements() == 0) return;
    weights_shape_ = weights->shape();
    packed_ = PackMatrices<float>(info, 1, 1, weights_shape_[0], weights_shape_[1], false);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const Shape& weights = packed_ ? weights_shape_ : context.required_input(1).shape();
    Require(shape.rank() == 3 && weights.rank() == 2 && shape[2] == weights[0], "the input is {} and the weights are {}",
            shape, weights);
    int64_t hidden[3];
    Split(weights[1], hidden);
    const int64_t batch = shape[0], rows = shape[1], columns = weights[1];
    const int64_t width = hidden[0] / heads_, value_width = hidden[2] / heads_;
    const Tensor* past = context.input(4);
    const int64_t past_rows = PastRows(past, batch, width, value_width);
    AttentionProblem<float> problem;
    problem.sizes = {batch, heads_, heads_, rows, CheckedAdd(past_rows, rows), width, value_width};
    Tensor* y = context.output(0, {batch, rows, hidden[2]});
    const float* projected = Project(context, x, batch * rows, columns, weights[0]);
    const auto part = [&](int64_t from, int64_t size) {
      return Heads<const float>{projected + from, rows * columns, size, columns};
    };
    problem.q = part(0, width);
    problem.k = part(hidden[0], width);
    problem.v = part(hidden[0] + hidden[1], value_width);
    if (context.has_output(1) || past != nullptr) KeepState(context, past, past_rows, problem);
    if (y == nullptr || y->num_elements() == 0) return;
    problem.scale = AttentionScale(scale_, width);
    const KeyMask mask(context.input(3), problem.sizes, past_rows);
    problem.bias = MaskAndBias(context, mask, filter_, context.input(5), problem.sizes);
    problem.range.offset = past_rows;
    problem.range.causal = causal_;
    RealResult<float> result(context, *y);
    problem.y = {result.data(), rows * hidden[2], value_width, hidden[2]};
    ScaledDotProduct<float>(context, problem);
    result.Finish();
  }

 private:
  void Split(int64_t columns, int64_t* hidden) const {
    for (int i = 0; i < 3; ++i) hidden[i] = hidden_[0] == 0 ? columns / 3 : hidden_[i];
    Require(hidden[0] >= 0 && hidden[2] >= 0 && hidden[0] == hidden[1] &&
                CheckedAdd(CheckedAdd(hidden[0], hidden[1]), hidden[2]) == columns && hidden[0] % heads_ == 0 &&
                hidden[2] % heads_ == 0,
            "{} columns do not divide into Q, K and V of {}, {} and {} with {} heads", columns, hidden[0], hidden[1],
            hidden[2], heads_);
  }

  int64_t PastRows(const Tensor* past, int64_t batch, int64_t width, int64_t value_width) const {
    if (past == nullptr) return 0;
    const Shape& s = past->shape();
    Require(s.rank() == 5 && s[0] == 2 && s[1] == batch && s[2] == heads_ && s[4] == width && width == value_width,
            "past is {}; [2,{},{},*,{}] is expected", s, batch, heads_, width);
    return s[3];
  }

  const float* Project(KernelContext& context, const Tensor& x, int64_t rows, int64_t columns, int64_t k) const {
    const Tensor* bias = context.input(2);
    Require(bias == nullptr || bias->num_elements() == columns, "the bias is {}; [{}] is expected", OptionalShape{bias},
            columns);
    float* out = context.scratch<float>(static_cast<size_t>(CheckedMul(rows, columns))).data();
    GemmProblem<float> args;
    args.m = rows;
    args.n = columns;
    args.k = k;
    args.lhs = {.data = ComputeView<T>(context, &x), .row = k};
    args.rhs =
        packed_ ? packed_.Rhs<float>() : GemmRhs<float>{.data = ComputeView<T>(context, context.input(1)), .k = columns};
    args.out = {.data = out, .row = columns};
    args.epilogue.bias = ComputeView<T>(context, bias);
    RunGemms<float>(context, 1, [&](int64_t) { return args; });
    return out;
  }

  /// Keys and values, the past ones before the new, into `present` [2, batch, heads, rows, width], where attention reads
  /// them.
  void KeepState(KernelContext& context, const Tensor* past, int64_t past_rows, AttentionProblem<float>& problem) const {
    const AttentionSizes& s = problem.sizes;
    Require(s.width == s.value_width, "keys of {} elements and values of {} have no common state", s.width, s.value_width);
    const Shape half{s.batch, heads_, s.keys, s.width};
    const Shape whole{2, s.batch, heads_, s.keys, s.width};
    Tensor* present = context.has_output(1) ? context.output(1, whole) : nullptr;
    const ElementType type = ElementTypeOf<T>;
    void* memory =
        present != nullptr ? present->mutable_raw() : context.scratch<uint8_t>(ByteSize(type, whole.num_elements())).data();
    const auto kept = context.scratch<int64_t>(static_cast<size_t>(s.batch));
    std::fill(kept.begin(), kept.end(), past_rows);
    Heads<const float>* parts[2] = {&problem.k, &problem.v};
    for (int i = 0; i < 2; ++i) {
      Tensor cache = Tensor::View(
          type, half, static_cast<uint8_t*>(memory) + static_cast<size_t>(i) * ByteSize(type, half.num_elements()));
      Tensor old;
      if (past != nullptr) {
        const Shape old_shape{s.batch, heads_, past_rows, s.width};
        auto* raw = static_cast<uint8_t*>(const_cast<void*>(past->raw()));
        old = Tensor::View(type, old_shape, raw + static_cast<size_t>(i) * ByteSize(type, old_shape.num_elements()));
      }
      WriteCache(context.threads(), past == nullptr ? nullptr : &old, kept.data(),
                 {*parts[i], s.batch, heads_, s.queries, s.width}, s.keys, cache);
      *parts[i] = ReadCache(context, cache, heads_, s.keys, s.width, s.keys);
    }
  }

  int64_t heads_;
  bool causal_;
  float scale_;
  float filter_;
  int64_t hidden_[3] = {};
  Shape weights_shape_;
  PackedMatrices packed_;
};

}  // namespace

void RegisterMicrosoftAttention(KernelRegistry& registry) {
  registry.Add(Op("Attention", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Factory(MakeTyped<Attention, TypeList<float, Float16, BFloat16>>));
}

}  // namespace tessera::cpu
