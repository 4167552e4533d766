// MultiHeadAttention and DecoderMaskedMultiHeadAttention, com.microsoft, version 1: queries, keys and values are projected
// already but for their bias. Decoders may keep past and present in one buffer that is longer than both, and follow beams
// through it.

#include "cpu/ops/microsoft/attention_parts.h"
#include "cpu/ops/ops.h"
#include "cpu/rounding.h"
#include "cpu/types.h"
#include "ops/attention/attention_scale.h"

namespace tessera::cpu {
namespace {

/// Queries, keys or values, wherever they lie.
struct Part {
  Heads<const float> at;
  int64_t rows, width;
};

/// Where an operator has its optional inputs.
struct OptionalInputs {
  size_t bias, mask, attention_bias, past_key, past_value, past_length, beam_width, indirection;
};

/// Rows of keys and values before the new ones, and room for rows in the buffer that holds both.
struct Past {
  int64_t rows = 0, capacity = 0;
};

class MultiHeadAttention final : public Kernel {
 public:
  MultiHeadAttention(const KernelInfo& info, const OptionalInputs& inputs)
      : inputs_(inputs),
        heads_(info.attribute<int64_t>("num_heads")),
        causal_(info.attribute<int64_t>("unidirectional", 0) != 0),
        scale_(info.attribute<float>("scale", 0.0f)),
        filter_(info.attribute<float>("mask_filter_value", -10000.0f)),
        rounds_(RoundsOperands(info.provider(), info.graph(), info.node())) {
    Require(heads_ > 0, "num_heads is {}", heads_);
    shares_ = info.attribute<int64_t>("past_present_share_buffer", 0) != 0;
  }

  void Compute(KernelContext& context) override {
    const Tensor& query = context.required_input(0);
    const int64_t batch = query.shape().rank() > 0 ? query.shape()[0] : 0;
    Part q, k, v;
    SplitHeads(context, query, batch, q, k, v);
    AddBiases(context, batch, q, k, v);
    AttentionProblem<float> problem;
    const Past past = PastOf(context, batch, k, v);
    problem.sizes = {batch, heads_, heads_, q.rows, CheckedAdd(past.rows, k.rows), q.width, v.width};
    const AttentionSizes& s = problem.sizes;
    problem.q = q.at;
    problem.k = Keep(context, 1, inputs_.past_key, past, k, s);
    problem.v = Keep(context, 2, inputs_.past_value, past, v, s);
    FollowBeams(context, past, problem);
    Tensor* y = context.output(0, {batch, q.rows, heads_ * v.width});
    Tensor* captured = context.has_output(3) ? context.output(3, {batch, heads_, s.queries, s.keys}) : nullptr;
    if (y == nullptr || y->num_elements() == 0) return;
    problem.rounds = rounds_;
    problem.scale = AttentionScale(scale_, q.width);
    const KeyMask mask(context.input(inputs_.mask), s, past.rows);
    problem.bias = MaskAndBias(context, mask, filter_, context.input(inputs_.attention_bias), s);
    problem.range.offset = past.rows;
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

  /// [batch, rows, queries then keys then values], as wide as one another.
  void PlacePacked(const float* data, const Shape& shape, Part& q, Part& k, Part& v) const {
    Require(shape[2] % (3 * heads_) == 0,
            "the query is {}, which does not divide into {} heads of queries, keys and values", shape, heads_);
    const int64_t width = shape[2] / (3 * heads_);
    const auto part = [&](int64_t i) {
      return Part{{data + i * heads_ * width, shape[1] * shape[2], width, shape[2]}, shape[1], width};
    };
    q = part(0);
    k = part(1);
    v = part(2);
  }

  void SplitHeads(KernelContext& context, const Tensor& query, int64_t batch, Part& q, Part& k, Part& v) const {
    const Tensor* key = context.input(1);
    const Tensor* value = context.input(2);
    const Shape& qs = query.shape();
    const float* q_data = RealView<float>(context, query);
    if (key == nullptr) {
      if (qs.rank() == 3 && value == nullptr) return PlacePacked(q_data, qs, q, k, v);
      Require(qs.rank() == 5 && qs[2] == heads_ && qs[3] == 3 && value == nullptr,
              "the query is {}; [batch,sequence,{},3,width] is expected without a key", qs, heads_);
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
      Require(ks[2] == heads_ && ks[3] == 2 && value == nullptr, "the key is {}; [batch,sequence,{},2,width] is expected",
              ks, heads_);
      k = Packed5(k_data, ks, 0);
      v = Packed5(k_data, ks, 1);
    } else {
      Require(value != nullptr && value->shape().rank() == ks.rank() && value->shape()[0] == batch,
              "the key is {} and the value {}", ks, OptionalShape{value});
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
    const Tensor* bias = context.input(inputs_.bias);
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

  Past PastOf(KernelContext& context, int64_t batch, const Part& k, const Part& v) const {
    const Tensor* key = context.input(inputs_.past_key);
    const Tensor* value = context.input(inputs_.past_value);
    const Tensor* length = context.input(inputs_.past_length);
    Require((key == nullptr) == (value == nullptr), "past_key and past_value must be given together");
    if (key == nullptr) return {0, k.rows};
    const auto fits = [&](const Shape& s, int64_t width) {
      return s.rank() == 4 && s[0] == batch && s[1] == heads_ && s[3] == width;
    };
    Require(fits(key->shape(), k.width) && fits(value->shape(), v.width) && key->shape()[2] == value->shape()[2],
            "past_key is {} and past_value {}", key->shape(), value->shape());
    const int64_t held = key->shape()[2];
    Require(length != nullptr || !shares_, "past_present_share_buffer needs past_sequence_length");
    if (length == nullptr) return {held, CheckedAdd(held, k.rows)};
    Require(length->num_elements() == 1, "past_sequence_length is {}; a scalar is expected", length->shape());
    const Past past{*length->data<int32_t>(), held};
    Require(past.rows >= 0 && past.rows <= held - k.rows,
            "past_sequence_length is {} with {} new tokens in a buffer of {} rows", past.rows, k.rows, held);
    return past;
  }

  /// With the past before them; output `i` where it is wanted.
  Heads<const float> Keep(KernelContext& context, size_t i, size_t input, const Past& past, const Part& part,
                          const AttentionSizes& s) const {
    const bool wanted = context.has_output(i);
    const Tensor* before = context.input(input);
    if (before == nullptr && !wanted) return part.at;
    const Shape shape{s.batch, heads_, past.capacity, part.width};
    Tensor local;
    Tensor* cache = wanted ? context.output(i, shape) : nullptr;
    if (cache == nullptr) {
      const ElementType type = before->type();
      local = Tensor::View(type, shape, context.scratch<uint8_t>(ByteSize(type, shape.num_elements())).data());
      cache = &local;
    }
    const auto kept = context.scratch<int64_t>(static_cast<size_t>(s.batch));
    std::fill(kept.begin(), kept.end(), past.rows);
    WriteCache(context.threads(), before, kept.data(), {part.at, s.batch, heads_, part.rows, part.width}, past.capacity,
               *cache, {}, before == nullptr ? CacheRest::kZero : CacheRest::kAsBefore);
    return ReadCache(context, *cache, heads_, past.capacity, part.width, s.keys);
  }

  /// Each past row of keys and values comes from the beam of the same sentence that cache_indirection names.
  void FollowBeams(KernelContext& context, const Past& past, AttentionProblem<float>& problem) const {
    const Tensor* indirection = context.input(inputs_.indirection);
    const Tensor* given = context.input(inputs_.beam_width);
    Require(given == nullptr || given->num_elements() == 1, "beam_width is {}; a scalar is expected", OptionalShape{given});
    const int64_t width = given == nullptr ? 1 : *given->data<int32_t>();
    Require(width == 1 || indirection != nullptr, "beam_width is {}, but there is no cache_indirection", width);
    if (indirection == nullptr || context.input(inputs_.past_key) == nullptr) return;
    const Shape& shape = indirection->shape();
    const AttentionSizes& s = problem.sizes;
    Require(shape.rank() == 3 && shape[1] > 0 && CheckedMul(shape[0], shape[1]) == s.batch && shape[2] >= past.rows,
            "cache_indirection is {} for {} sentences in all beams and a past of {} rows", shape, s.batch, past.rows);
    const int64_t beams = shape[1];
    Require(given == nullptr || width == beams, "beam_width is {} and cache_indirection {}", width, shape);
    if (beams == 1) return;
    const int32_t* beam_of = indirection->data<int32_t>();
    for (int64_t i = 0; i < s.batch * past.rows; ++i) {
      const int32_t beam = beam_of[i / past.rows * shape[2] + i % past.rows];
      Require(beam >= 0 && beam < beams, "cache_indirection holds {}; there are {} beams", beam, beams);
    }
    const auto gather = [&](Heads<const float>& rows, int64_t width) {
      float* out =
          context.scratch<float>(static_cast<size_t>(CheckedMul(CheckedMul(s.batch * heads_, s.keys), width))).data();
      context.threads().ParallelFor(
          s.batch * heads_, static_cast<double>(s.keys * width) * 0.3, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t b = i / heads_, h = i % heads_;
              for (int64_t k = 0; k < s.keys; ++k) {
                const int64_t from = k < past.rows ? b / beams * beams + beam_of[b * shape[2] + k] : b;
                std::copy_n(rows.at(from, h) + k * rows.row, width, out + (i * s.keys + k) * width);
              }
            }
          });
      rows = {out, heads_ * s.keys * width, s.keys * width, width};
    };
    gather(problem.k, s.width);
    gather(problem.v, s.value_width);
  }

  OptionalInputs inputs_;
  int64_t heads_;
  bool causal_;
  bool shares_;
  float scale_;
  float filter_;
  bool rounds_;
};

constexpr size_t kNever = 100;  // more inputs than any operator has

template <OptionalInputs kInputs>
void AddMultiHeadAttention(KernelRegistry& registry, const char* name) {
  registry.Add(Op(name, "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .InPlace(kInputs.past_key, 1)
                   .InPlace(kInputs.past_value, 2)
                   .Factory([](const KernelInfo& info) -> std::unique_ptr<Kernel> {
                     return std::make_unique<MultiHeadAttention>(info, kInputs);
                   }));
}

}  // namespace

void RegisterMultiHeadAttention(KernelRegistry& registry) {
  constexpr OptionalInputs kInputs = {.bias = 3,
                                      .mask = 4,
                                      .attention_bias = 5,
                                      .past_key = 6,
                                      .past_value = 7,
                                      .past_length = 8,
                                      .beam_width = kNever,
                                      .indirection = 9};
  AddMultiHeadAttention<kInputs>(registry, "MultiHeadAttention");
}

void RegisterDecoderMaskedMultiHeadAttention(KernelRegistry& registry) {
  constexpr OptionalInputs kInputs = {.bias = 10,
                                      .mask = 3,
                                      .attention_bias = 4,
                                      .past_key = 5,
                                      .past_value = 6,
                                      .past_length = 7,
                                      .beam_width = 8,
                                      .indirection = 9};
  AddMultiHeadAttention<kInputs>(registry, "DecoderMaskedMultiHeadAttention");
}

}  // namespace tessera::cpu
