// MultiHeadAttention, com.microsoft, version 1: queries, keys and values are projected already but for their bias.

#include "ops/microsoft/attention_parts.h"
#include "ops/ops.h"
#include "rounding.h"
#include "types.h"

namespace tessera::cpu {
namespace {

/// Queries, keys or values, wherever they lie.
struct Part {
  Heads<const float> at;
  int64_t rows, width;
};

class MultiHeadAttention final : public Kernel {
 public:
  explicit MultiHeadAttention(const KernelInfo& info)
      : heads_(info.attribute<int64_t>("num_heads")),
        causal_(info.attribute<int64_t>("unidirectional", 0) != 0),
        scale_(info.attribute<float>("scale", 0.0f)),
        filter_(info.attribute<float>("mask_filter_value", -10000.0f)),
        rounds_(RoundsFactors(info.provider(), info.graph(), info.node())) {
    Require(heads_ > 0, "num_heads is {}", heads_);
    Require(!info.has_input(8) && !info.has_input(9), "a buffer that past and present share, and beams in it, are not supported");
  }

  void Compute(KernelContext& context) override {
    const Tensor& query = context.required_input(0);
    const int64_t batch = query.shape().rank() > 0 ? query.shape()[0] : 0;
    Part q, k, v;
    Place(context, query, batch, q, k, v);
    AddBiases(context, batch, q, k, v);
    AttentionProblem<float> problem;
    const Tensor* past_key = context.input(6);
    const Tensor* past_value = context.input(7);
    const int64_t past = PastRows(past_key, past_value, batch, k, v);
    problem.sizes = {batch, heads_, heads_, q.rows, CheckedAdd(past, k.rows), q.width, v.width};
    const AttentionSizes& s = problem.sizes;
    problem.q = q.at;
    problem.k = Keep(context, 1, past_key, past, k, s);
    problem.v = Keep(context, 2, past_value, past, v, s);
    Tensor* y = context.output(0, {batch, q.rows, heads_ * v.width});
    Tensor* captured = context.has_output(3) ? context.output(3, {batch, heads_, s.queries, s.keys}) : nullptr;
    if (y == nullptr || y->num_elements() == 0) return;
    problem.rounds = rounds_;
    problem.scale = ScaleOr(scale_, q.width);
    const KeyMask mask(context.input(4), s, past);
    problem.bias = MaskAndBias(context, mask, filter_, context.input(5), s);
    problem.range.offset = past;
    problem.range.causal = causal_;
    RealResult<float> result(context, *y);
    problem.y = {result.data(), q.rows * heads_ * v.width, v.width, heads_ * v.width};
    if (captured != nullptr) {
      RealResult<float> capture(context, *captured);
      problem.capture = CaptureStage::kBias;
      problem.captured = capture.data();
      ScaledDotProduct<float>(context, problem);
      capture.Finish();
    } else {
      ScaledDotProduct<float>(context, problem);
    }
    result.Finish();
  }

 private:
  /// [batch, rows, heads * width].
  Part Packed3(const float* data, const Shape& shape) const {
    Require(shape.rank() == 3 && shape[2] % heads_ == 0, "{} does not divide into {} heads", shape, heads_);
    const int64_t width = shape[2] / heads_;
    return {{data, shape[1] * shape[2], width, shape[2]}, shape[1], width};
  }

  /// Part `i` of [batch, rows, heads, parts, width].
  Part Packed5(const float* data, const Shape& shape, int64_t i) const {
    const int64_t row = shape[2] * shape[3] * shape[4];
    return {{data + i * shape[4], shape[1] * row, shape[3] * shape[4], row}, shape[1], shape[4]};
  }

  void Place(KernelContext& context, const Tensor& query, int64_t batch, Part& q, Part& k, Part& v) const {
    const Tensor* key = context.input(1);
    const Tensor* value = context.input(2);
    const Shape& qs = query.shape();
    const float* q_data = RealView<float>(context, query);
    if (key == nullptr) {
      Require(qs.rank() == 5 && qs[2] == heads_ && qs[3] == 3 && value == nullptr, "the query is {}; [batch,sequence,{},3,width] is expected without a key",
              qs, heads_);
      q = Packed5(q_data, qs, 0);
      k = Packed5(q_data, qs, 1);
      v = Packed5(q_data, qs, 2);
      return;
    }
    q = Packed3(q_data, qs);
    const Shape& ks = key->shape();
    const float* k_data = RealView<float>(context, *key);
    Require(ks.rank() >= 3 && ks[0] == batch, "the query is {} and the key {}", qs, ks);
    if (ks.rank() == 5) {
      Require(ks[2] == heads_ && ks[3] == 2 && value == nullptr, "the key is {}; [batch,sequence,{},2,width] is expected", ks, heads_);
      k = Packed5(k_data, ks, 0);
      v = Packed5(k_data, ks, 1);
    } else {
      Require(value != nullptr && value->shape().rank() == ks.rank() && value->shape()[0] == batch, "the key is {} and the value {}", ks,
              OptionalShape{value});
      const Shape& vs = value->shape();
      const float* v_data = RealView<float>(context, *value);
      k = ks.rank() == 3 ? Packed3(k_data, ks) : Separate(k_data, ks);
      v = ks.rank() == 3 ? Packed3(v_data, vs) : Separate(v_data, vs);
    }
    Require(k.width == q.width && k.rows == v.rows, "query, key and value are {}, {} and {}", qs, ks,
            value == nullptr ? ks : value->shape());
  }

  /// [batch, heads, rows, width].
  Part Separate(const float* data, const Shape& shape) const {
    Require(shape.rank() == 4 && shape[1] == heads_, "{} has not {} heads", shape, heads_);
    return {{data, heads_ * shape[2] * shape[3], shape[2] * shape[3], shape[3]}, shape[2], shape[3]};
  }

  /// Keys and values that are another layer's output with four dimensions have their bias already.
  void AddBiases(KernelContext& context, int64_t batch, Part& q, Part& k, Part& v) const {
    const Tensor* bias = context.input(3);
    if (bias == nullptr) return;
    const int64_t hidden = heads_ * q.width;
    Require(bias->num_elements() == 2 * hidden + heads_ * v.width, "the bias is {}; [{}] is expected", bias->shape(),
            2 * hidden + heads_ * v.width);
    const float* values = RealView<float>(context, *bias);
    AddBias(context, batch, values, q);
    if (context.input(1) != nullptr && context.input(1)->shape().rank() == 4) return;
    AddBias(context, batch, values + hidden, k);
    AddBias(context, batch, values + 2 * hidden, v);
  }

  void AddBias(KernelContext& context, int64_t batch, const float* bias, Part& part) const {
    const int64_t row = heads_ * part.width;
    float* out = context.scratch<float>(static_cast<size_t>(CheckedMul(batch * part.rows, row))).data();
    context.threads().ParallelFor(batch * part.rows, static_cast<double>(row) * 0.3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t h = 0; h < heads_; ++h) {
          const float* from = part.at.at(i / part.rows, h) + i % part.rows * part.at.row;
          float* to = out + i * row + h * part.width;
          for (int64_t e = 0; e < part.width; ++e) to[e] = from[e] + bias[h * part.width + e];
        }
      }
    });
    part.at = {out, part.rows * row, part.width, row};
  }

  int64_t PastRows(const Tensor* key, const Tensor* value, int64_t batch, const Part& k, const Part& v) const {
    Require((key == nullptr) == (value == nullptr), "past_key and past_value must be given together");
    if (key == nullptr) return 0;
    const auto fits = [&](const Shape& s, int64_t width) { return s.rank() == 4 && s[0] == batch && s[1] == heads_ && s[3] == width; };
    Require(fits(key->shape(), k.width) && fits(value->shape(), v.width) && key->shape()[2] == value->shape()[2],
            "past_key is {} and past_value {}", key->shape(), value->shape());
    return key->shape()[2];
  }

  /// With the past before them; output `i` where it is wanted.
  Heads<const float> Keep(KernelContext& context, size_t i, const Tensor* past, int64_t past_rows, const Part& part, const AttentionSizes& s) const {
    const bool wanted = context.has_output(i);
    if (past == nullptr && !wanted) return part.at;
    const Shape shape{s.batch, heads_, s.keys, part.width};
    Tensor local;
    Tensor* cache = wanted ? context.output(i, shape) : nullptr;
    if (cache == nullptr) {
      local = Tensor::View(ElementType::kFloat, shape, context.scratch<float>(static_cast<size_t>(shape.num_elements())).data());
      cache = &local;
      if (past != nullptr && !past->is(ElementType::kFloat)) {
        const ElementType type = past->type();
        local = Tensor::View(type, shape, context.scratch<uint8_t>(ByteSize(type, shape.num_elements())).data());
      }
    }
    const auto kept = context.scratch<int64_t>(static_cast<size_t>(s.batch));
    std::fill(kept.begin(), kept.end(), past_rows);
    WriteCache(context.threads(), past, kept.data(), {part.at, s.batch, heads_, part.rows, part.width}, s.keys, *cache);
    return ReadCache(context, *cache, heads_, s.keys, part.width);
  }

  int64_t heads_;
  bool causal_;
  float scale_;
  float filter_;
  bool rounds_;
};

}  // namespace

void RegisterMultiHeadAttention(KernelRegistry& registry) {
  registry.Add(Op("MultiHeadAttention", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Make<MultiHeadAttention>());
}

}  // namespace tessera::cpu
