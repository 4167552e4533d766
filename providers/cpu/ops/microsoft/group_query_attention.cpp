// GroupQueryAttention, com.microsoft, version 1: decoders' attention, with its cache of keys and values and rotary positions.

#include "ops/microsoft/attention_parts.h"
#include "ops/ops.h"
#include "rounding.h"
#include "simd/rotary.h"
#include "types.h"

namespace tessera::cpu {
namespace {

/// Tables of cosines and sines, [positions, half] each.
struct RotaryTables {
  const float* cosines = nullptr;
  const float* sines = nullptr;
  int64_t positions = 0, half = 0;
};

/// One call's sizes. A sentence has `past` rows in its cache before the call, `total` after it.
struct Call {
  int64_t batch, steps, width, capacity;
  bool is_prompt;
  const int64_t* past;
  const int64_t* total;
};

class GroupQueryAttention final : public Kernel {
 public:
  explicit GroupQueryAttention(const KernelInfo& info)
      : heads_(info.attribute<int64_t>("num_heads")),
        kv_heads_(info.attribute<int64_t>("kv_num_heads")),
        window_(info.attribute<int64_t>("local_window_size", -1)),
        causal_(info.attribute<int64_t>("causal", 1) != 0),
        rotary_(info.attribute<int64_t>("do_rotary", 0) != 0),
        interleaved_(info.attribute<int64_t>("rotary_interleaved", 0) != 0),
        smooth_(info.attribute<int64_t>("smooth_softmax", 0) == 1),
        captured_(info.attribute<int64_t>("qk_output", 0)),
        scale_(info.attribute<float>("scale", 0.0f)),
        softcap_(info.attribute<float>("softcap", 0.0f)),
        rounds_(RoundsFactors(info.provider(), info.graph(), info.node())) {
    Require(heads_ > 0 && kv_heads_ > 0 && heads_ % kv_heads_ == 0, "num_heads is {} and kv_num_heads {}", heads_, kv_heads_);
    Require(info.attribute<int64_t>("sliding_window_cache", 0) == 0, "caches of the size of the window are not supported");
    for (const char* name : {"k_quant_type", "v_quant_type"}) {
      const auto type = info.attribute<std::string>(name, "NONE");
      Require(type == "NONE" || type.empty(), "{} is {}: quantized caches are not supported", name, type);
    }
    Require(!info.has_input(14) && !info.has_input(15), "q_norm_weight and k_norm_weight are not supported");
  }

  void Compute(KernelContext& context) override {
    const Tensor& query = context.required_input(0);
    const Shape& qs = query.shape();
    Require(qs.rank() == 3, "the query is {}; 3 dimensions are expected", qs);
    const bool packed = context.input(1) == nullptr;
    const int64_t parts = packed ? heads_ + 2 * kv_heads_ : heads_;
    Require(qs[2] % parts == 0, "the query is {}, which does not divide into {} heads", qs, parts);
    Call call = MakeCall(context, qs, qs[2] / parts);
    NewRows q, k, v;
    Place(context, query, packed, call, q, k, v);
    Turn(context, call, q, k);
    AttentionProblem<float> problem;
    problem.sizes = {call.batch, heads_, kv_heads_, call.steps, 0, call.width, call.width};
    for (int64_t b = 0; b < call.batch; ++b) problem.sizes.keys = std::max(problem.sizes.keys, call.is_prompt ? call.steps : call.total[b]);
    problem.q = q.at;
    problem.k = Keep(context, 1, context.input(3), call, k);
    problem.v = Keep(context, 2, context.input(4), call, v);
    Tensor* y = context.output(0, {call.batch, call.steps, heads_ * call.width});
    if (y == nullptr || y->num_elements() == 0) return;
    problem.rounds = rounds_;
    problem.scale = ScaleOr(scale_, call.width);
    problem.softcap = softcap_;
    problem.bias = FitBias(context, context.input(10), problem.sizes);
    problem.sinks = Sinks(context);
    problem.range.causal = causal_;
    if (window_ > 0) problem.range.left = window_ - 1;
    if (!call.is_prompt || !causal_) problem.range.lengths = call.total;
    RealResult<float> result(context, *y);
    problem.y = {result.data(), call.steps * heads_ * call.width, call.width, heads_ * call.width};
    Run(context, problem);
    result.Finish();
  }

 private:
  void Run(KernelContext& context, AttentionProblem<float>& problem) const {
    const AttentionSizes& s = problem.sizes;
    Tensor* captured = context.has_output(3) ? context.output(3, {s.batch, heads_, s.queries, s.keys}) : nullptr;
    if (captured == nullptr) return ScaledDotProduct<float>(context, problem);
    RealResult<float> capture(context, *captured);
    problem.capture = captured_ == 2 ? CaptureStage::kSoftmax : CaptureStage::kBias;
    problem.captured = capture.data();
    ScaledDotProduct<float>(context, problem);
    capture.Finish();
  }

  Call MakeCall(KernelContext& context, const Shape& query, int64_t width) const {
    Call call{query[0], query[1], width, 0, false, nullptr, nullptr};
    const Tensor& lengths = context.required_input(5);
    const Tensor& total_input = context.required_input(6);
    Require(total_input.num_elements() == 1, "total_sequence_length is {}; a scalar is expected", total_input.shape());
    const int64_t total = *total_input.data<int32_t>();
    Require(lengths.num_elements() == call.batch, "seqlens_k has {} elements, the batch {}", lengths.num_elements(), call.batch);
    Require(total >= call.steps, "total_sequence_length is {} with {} new tokens", total, call.steps);
    call.is_prompt = total == call.steps;
    const auto past = context.scratch<int64_t>(static_cast<size_t>(call.batch));
    const auto totals = context.scratch<int64_t>(static_cast<size_t>(call.batch));
    const Tensor* cache = context.input(3);
    Require((cache == nullptr) == (context.input(4) == nullptr), "past_key and past_value must be given together");
    const int64_t held = cache == nullptr || cache->shape().rank() != 4 ? 0 : cache->shape()[2];
    for (int64_t b = 0; b < call.batch; ++b) {
      totals[b] = int64_t{lengths.data<int32_t>()[b]} + 1;
      past[b] = call.is_prompt ? 0 : totals[b] - call.steps;
      Require(totals[b] >= 1 && totals[b] <= total && past[b] >= 0 && past[b] <= held,
              "seqlens_k holds {} for {} new tokens, a total of {} and a past of {} rows", totals[b] - 1, call.steps, total, held);
    }
    Require(total <= held + call.steps, "total_sequence_length is {} with {} new tokens and a past of {} rows", total, call.steps, held);
    call.capacity = std::max(held, total);
    call.past = past.data();
    call.total = totals.data();
    return call;
  }

  void Place(KernelContext& context, const Tensor& query, bool packed, const Call& call, NewRows& q, NewRows& k, NewRows& v) const {
    const float* data = RealView<float>(context, query);
    const int64_t row = query.shape()[2];
    const auto part = [&](const float* from, int64_t heads, int64_t stride) {
      return NewRows{{from, call.steps * stride, call.width, stride}, call.batch, heads, call.steps, call.width};
    };
    q = part(data, heads_, row);
    if (packed) {
      Require(context.input(2) == nullptr, "a value is given without a key");
      k = part(data + heads_ * call.width, kv_heads_, row);
      v = part(data + (heads_ + kv_heads_) * call.width, kv_heads_, row);
      return;
    }
    const Tensor& key = context.required_input(1);
    const Tensor& value = context.required_input(2);
    const Shape expected{call.batch, call.steps, kv_heads_ * call.width};
    Require(key.shape() == expected && value.shape() == expected, "key and value are {} and {}; {} is expected", key.shape(),
            value.shape(), expected);
    k = part(RealView<float>(context, key), kv_heads_, expected[2]);
    v = part(RealView<float>(context, value), kv_heads_, expected[2]);
  }

  RotaryTables Tables(KernelContext& context, const Call& call) const {
    const Tensor& cosines = context.required_input(7);
    const Tensor& sines = context.required_input(8);
    const Shape& s = cosines.shape();
    Require(s.rank() == 2 && s == sines.shape() && 2 * s[1] <= call.width, "cos_cache is {} and sin_cache {} for heads of {}", s,
            sines.shape(), call.width);
    return {RealView<float>(context, cosines), RealView<float>(context, sines), s[0], s[1]};
  }

  /// Where each new token stands.
  std::span<const int64_t> Positions(KernelContext& context, const Call& call, int64_t limit) const {
    const auto positions = context.scratch<int64_t>(static_cast<size_t>(call.batch * call.steps));
    const Tensor* given = context.input(9);
    Require(given == nullptr || given->num_elements() == call.batch * call.steps, "position_ids is {}; [{},{}] is expected",
            OptionalShape{given}, call.batch, call.steps);
    for (int64_t i = 0; i < call.batch * call.steps; ++i) {
      const int64_t position = given != nullptr ? given->data<int64_t>()[i] : call.past[i / call.steps] + i % call.steps;
      Require(position >= 0 && position < limit, "position {} is outside the caches' {} rows", position, limit);
      positions[i] = position;
    }
    return positions;
  }

  void Turn(KernelContext& context, const Call& call, NewRows& q, NewRows& k) const {
    if (!rotary_) return;
    const RotaryTables tables = Tables(context, call);
    const auto positions = Positions(context, call, tables.positions);
    const auto turn = interleaved_ ? RotatePairs : RotateHalves;
    const auto turn_part = [&](NewRows& part) {
      const int64_t row = part.heads * part.width;
      float* out = context.scratch<float>(static_cast<size_t>(CheckedMul(part.batch * part.rows, row))).data();
      context.threads().ParallelFor(part.batch * part.rows * part.heads, static_cast<double>(part.width) * 0.4 + 5, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t token = i / part.heads, head = i % part.heads;
          const float* from = part.at.at(token / part.rows, head) + token % part.rows * part.at.row;
          float* to = out + token * row + head * part.width;
          const int64_t table = positions[token] * tables.half;
          turn(from, tables.cosines + table, tables.sines + table, tables.half, to);
          std::copy(from + 2 * tables.half, from + part.width, to + 2 * tables.half);
        }
      });
      part.at = {out, part.rows * row, part.width, row};
    };
    turn_part(q);
    turn_part(k);
  }

  /// The cache with the new rows in it; output `i` where it is wanted.
  Heads<const float> Keep(KernelContext& context, size_t i, const Tensor* past, const Call& call, const NewRows& rows) const {
    const bool wanted = context.has_output(i);
    if (past == nullptr && !wanted) return rows.at;
    if (past != nullptr) {
      const Shape& s = past->shape();
      Require(s.rank() == 4 && s[0] == call.batch && s[1] == kv_heads_ && s[2] == context.input(3)->shape()[2] && s[3] == call.width,
              "the past is {}; [{},{},*,{}] is expected", s, call.batch, kv_heads_, call.width);
    }
    const Shape shape{call.batch, kv_heads_, call.capacity, call.width};
    Tensor* cache = wanted ? context.output(i, shape) : nullptr;
    Tensor local;
    if (cache == nullptr) {
      const ElementType type = past->type();
      local = Tensor::View(type, shape, context.scratch<uint8_t>(ByteSize(type, shape.num_elements())).data());
      cache = &local;
    }
    WriteCache(context.threads(), past, call.past, rows, call.capacity, *cache);
    return ReadCache(context, *cache, kv_heads_, call.capacity, call.width);
  }

  const float* Sinks(KernelContext& context) const {
    const Tensor* sinks = context.input(11);
    if (sinks != nullptr) {
      Require(sinks->num_elements() == heads_, "head_sink is {}; [{}] is expected", sinks->shape(), heads_);
      return RealView<float>(context, *sinks);
    }
    if (!smooth_) return nullptr;
    const auto zeros = context.scratch<float>(static_cast<size_t>(heads_));
    std::fill(zeros.begin(), zeros.end(), 0.0f);
    return zeros.data();
  }

  int64_t heads_, kv_heads_, window_;
  bool causal_, rotary_, interleaved_, smooth_;
  int64_t captured_;
  float scale_, softcap_;
  bool rounds_;
};

}  // namespace

void RegisterGroupQueryAttention(KernelRegistry& registry) {
  constexpr TypeSet kTypes = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};
  registry.Add(Op("GroupQueryAttention", "com.microsoft")
                   .Types(0, kTypes).Types(3, kTypes).Types(4, kTypes).InPlace(3, 1).InPlace(4, 2)
                   .Make<GroupQueryAttention>());
}

}  // namespace tessera::cpu
