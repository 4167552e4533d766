// GroupQueryAttention, com.microsoft, version 1: decoders' attention, with its cache of keys and values and rotary
// positions.

#include "base/cancellable_memory.h"
#include "cpu/ops/microsoft/attention_parts.h"
#include "cpu/ops/microsoft/normalize_row.h"
#include "cpu/ops/ops.h"
#include "cpu/rounding.h"
#include "cpu/types.h"
#include "kernels/attention/rotary.h"

namespace tessera::cpu {
namespace {

/// Tables of cosines and sines, [positions, half] each.
struct RotaryTables {
  const float* cosines = nullptr;
  const float* sines = nullptr;
  int64_t positions = 0, half = 0;
};

/// What happens to heads of queries or keys before they meet: normalization, then rotation.
struct HeadChanges {
  const float* norm = nullptr;  // weights, [width]
  RotaryTables tables;          // of half 0: nothing is turned
  std::span<const int64_t> positions;
};

/// How a cache is quantized, by an attribute.
struct CacheQuantization {
  bool exists = false, by_channel = false;
};

/// One call's sizes. A sentence has had `past` tokens before the call, `total` after it; the last `kept` of the former are
/// in its cache, and the call's queries see `lengths` keys, which are these and the new ones.
struct Call {
  int64_t batch, steps, width, capacity;
  bool is_prompt;
  const int64_t* past;
  const int64_t* total;
  const int64_t* kept;
  const int64_t* lengths;
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
        norm_epsilon_(info.attribute<float>("qk_norm_epsilon", 1e-6f)),
        rounds_(RoundsOperands(info.provider(), info.graph(), info.node())) {
    Require(heads_ > 0 && kv_heads_ > 0 && heads_ % kv_heads_ == 0, "num_heads is {} and kv_num_heads {}", heads_,
            kv_heads_);
    slides_ = info.attribute<int64_t>("sliding_window_cache", 0) != 0;
    Require(!slides_ || window_ > 0, "sliding_window_cache needs local_window_size");
    Require(!slides_ || !info.has_output(3), "output_qk is not supported with sliding_window_cache");
    keys_ = QuantizationOf(info, "k_quant_type");
    values_ = QuantizationOf(info, "v_quant_type");
    const int64_t bits = info.attribute<int64_t>("kv_cache_bit_width", 0);
    Require(!(keys_.exists || values_.exists) || bits == 4 || bits == 8,
            "kv_cache_bit_width is {}; quantized caches have 4 or 8", bits);
    bits_ = static_cast<int>(bits);
    Require(info.has_input(14) == info.has_input(15), "q_norm_weight and k_norm_weight must be given together");
    Require(!info.has_output(3) || captured_ == 1 || captured_ == 2, "qk_output is {}; output_qk has 1 and 2", captured_);
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
    SplitHeads(context, query, packed, call, q, k, v);
    Change(context, call, q, k);
    AttentionProblem<float> problem;
    problem.sizes = {call.batch, heads_, kv_heads_, call.steps, 0, call.width, call.width};
    for (int64_t b = 0; b < call.batch; ++b)
      problem.sizes.keys = std::max(problem.sizes.keys, call.is_prompt ? call.steps : call.lengths[b]);
    problem.q = q.at;
    problem.k = Keep(context, 1, keys_, call, k, problem.sizes.keys);
    problem.v = Keep(context, 2, values_, call, v, problem.sizes.keys);
    Tensor* y = context.output(0, {call.batch, call.steps, heads_ * call.width});
    if (y == nullptr || y->num_elements() == 0) return;
    problem.rounds = rounds_;
    problem.scale = ScaleOr(scale_, call.width);
    problem.softcap = softcap_;
    problem.bias = Bias(context, call, problem.sizes);
    problem.sinks = Sinks(context);
    problem.range.causal = causal_;
    if (window_ > 0) problem.range.left = window_ - 1;
    if (!call.is_prompt || !causal_) problem.range.lengths = call.lengths;
    RealResult<float> result(context, *y);
    problem.y = {result.data(), call.steps * heads_ * call.width, call.width, heads_ * call.width};
    Run(context, problem);
    result.Finish();
  }

 private:
  static CacheQuantization QuantizationOf(const KernelInfo& info, const char* attribute) {
    const auto type = info.attribute<std::string>(attribute, "NONE");
    Require(type.empty() || type == "NONE" || type == "PER_TENSOR" || type == "PER_CHANNEL",
            "{} is {}; NONE, PER_TENSOR and PER_CHANNEL are known", attribute, type);
    return {type.starts_with("PER_"), type == "PER_CHANNEL"};
  }

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
    Require(lengths.num_elements() == call.batch, "seqlens_k has {} elements, the batch {}", lengths.num_elements(),
            call.batch);
    Require(total >= call.steps, "total_sequence_length is {} with {} new tokens", total, call.steps);
    call.is_prompt = total == call.steps;
    const auto past = context.scratch<int64_t>(static_cast<size_t>(call.batch));
    const auto totals = context.scratch<int64_t>(static_cast<size_t>(call.batch));
    const Tensor* cache = context.input(3);
    Require((cache == nullptr) == (context.input(4) == nullptr), "past_key and past_value must be given together");
    const int64_t held = cache == nullptr || cache->shape().rank() != 4 ? 0 : cache->shape()[2];
    Require(!slides_ || held >= window_, "the past is {}; sliding_window_cache needs at least {} rows",
            OptionalShape{cache}, window_);
    const auto kept = slides_ ? context.scratch<int64_t>(static_cast<size_t>(call.batch)) : past;
    const auto seen = slides_ ? context.scratch<int64_t>(static_cast<size_t>(call.batch)) : totals;
    for (int64_t b = 0; b < call.batch; ++b) {
      totals[b] = int64_t{lengths.data<int32_t>()[b]} + 1;
      past[b] = call.is_prompt ? 0 : totals[b] - call.steps;
      Require(totals[b] >= 1 && totals[b] <= total && past[b] >= 0 && (slides_ || past[b] <= held),
              "seqlens_k holds {} for {} new tokens, a total of {} and a past of {} rows", totals[b] - 1, call.steps, total,
              held);
      if (!slides_) continue;
      kept[b] = Resident(past[b], held);
      seen[b] = kept[b] + totals[b] - past[b];
    }
    Require(slides_ || total <= held + call.steps, "total_sequence_length is {} with {} new tokens and a past of {} rows",
            total, call.steps, held);
    call.capacity = slides_ ? held : std::max(held, total);
    call.kept = kept.data();
    call.lengths = seen.data();
    call.past = past.data();
    call.total = totals.data();
    return call;
  }

  /// How many of `tokens` a cache of the window's kind still holds: when it is full, a run of them goes at once.
  int64_t Resident(int64_t tokens, int64_t capacity) const {
    const int64_t run = capacity - window_ + 1;
    return tokens <= capacity ? tokens : tokens - CeilDiv(tokens - capacity, run) * run;
  }

  /// Columns of the bias are positions; a cache that slides begins with a later one.
  AttentionBias<float> Bias(KernelContext& context, const Call& call, const AttentionSizes& s) const {
    const Tensor* tensor = context.input(10);
    AttentionSizes whole = s;
    if (slides_) whole.keys = *std::max_element(call.total, call.total + call.batch);
    const AttentionBias<float> bias = FitBias(context, tensor, whole);
    if (bias.data == nullptr || !slides_) return bias;
    const int64_t heads = bias.head == 0 ? 1 : s.query_heads, rows = s.batch * heads * s.queries;
    const auto moved = context.scratch<float>(static_cast<size_t>(CheckedMul(rows, s.keys)));
    std::fill(moved.begin(), moved.end(), 0.0f);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t b = i / s.queries / heads, h = i / s.queries % heads;
      const float* from =
          bias.data + b * bias.batch + h * bias.head + i % s.queries * bias.row + call.past[b] - call.kept[b];
      std::copy_n(from, std::min(call.lengths[b], s.keys), moved.data() + i * s.keys);
    }
    return {moved.data(), heads * s.queries * s.keys, heads == 1 ? 0 : s.queries * s.keys, s.keys, s.keys};
  }

  void SplitHeads(KernelContext& context, const Tensor& query, bool packed, const Call& call, NewRows& q, NewRows& k,
                  NewRows& v) const {
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
    Require(key.shape() == expected && value.shape() == expected, "key and value are {} and {}; {} is expected",
            key.shape(), value.shape(), expected);
    k = part(RealView<float>(context, key), kv_heads_, expected[2]);
    v = part(RealView<float>(context, value), kv_heads_, expected[2]);
  }

  RotaryTables Tables(KernelContext& context, const Call& call) const {
    const Tensor& cosines = context.required_input(7);
    const Tensor& sines = context.required_input(8);
    const Shape& s = cosines.shape();
    Require(s.rank() == 2 && s == sines.shape() && 2 * s[1] <= call.width,
            "cos_cache is {} and sin_cache {} for heads of {}", s, sines.shape(), call.width);
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

  void Change(KernelContext& context, const Call& call, NewRows& q, NewRows& k) const {
    HeadChanges changes;
    if (rotary_) {
      changes.tables = Tables(context, call);
      changes.positions = Positions(context, call, changes.tables.positions);
    }
    const auto change = [&](size_t weights, NewRows& rows) {
      const Tensor* norm = context.input(weights);
      if (norm != nullptr) {
        Require(norm->num_elements() == call.width, "the weights of the heads' norm are {}; [{}] is expected",
                norm->shape(), call.width);
        changes.norm = RealView<float>(context, *norm);
      }
      if (rotary_ || norm != nullptr) ChangeHeads(context, changes, rows);
    };
    change(14, q);
    change(15, k);
  }

  void ChangeHeads(KernelContext& context, const HeadChanges& changes, NewRows& part) const {
    const int64_t row = part.heads * part.width, half = changes.tables.half, count = part.batch * part.rows * part.heads;
    const auto rotate = interleaved_ ? RotatePairs : RotateHalves;
    float* out = context.scratch<float>(static_cast<size_t>(CheckedMul(part.batch * part.rows, row))).data();
    const int64_t parts = std::clamp<int64_t>(count, 1, 4 * context.threads().num_threads());
    const auto normalized =
        context.scratch<float>(changes.norm == nullptr ? 0 : static_cast<size_t>(CheckedMul(parts, part.width)));
    const double cost =
        (static_cast<double>(part.width) * 0.6 + 5) * static_cast<double>(count) / static_cast<double>(parts);
    context.threads().ParallelFor(parts, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = count * begin / parts; i < count * end / parts; ++i) {
        const int64_t token = i / part.heads, head = i % part.heads;
        const float* from = part.at.at(token / part.rows, head) + token % part.rows * part.at.row;
        float* to = out + token * row + head * part.width;
        if (changes.norm != nullptr) {
          float* own = half == 0 ? to : normalized.data() + begin * part.width;
          NormalizeRow<float, false>(from, part.width, norm_epsilon_, {changes.norm, nullptr}, own);
          from = own;
        }
        if (half == 0) continue;
        const int64_t table = changes.positions[token] * half;
        rotate(from, changes.tables.cosines + table, changes.tables.sines + table, half, to);
        std::copy(from + 2 * half, from + part.width, to + 2 * half);
      }
    });
    part.at = {out, part.rows * row, part.width, row};
  }

  /// The cache with the new rows in it, output `i` where it is wanted; its first `read` rows are for reading.
  Heads<const float> Keep(KernelContext& context, size_t i, const CacheQuantization& quantization, const Call& call,
                          const NewRows& rows, int64_t read) const {
    const bool wanted = context.has_output(i);
    const Tensor* past = context.input(i + 2);
    if (past == nullptr && !wanted && !quantization.exists) return rows.at;
    CacheEncoding encoding;
    if (quantization.exists)
      encoding = EncodingWith(context, bits_, context.input(i + 11), quantization.by_channel, kv_heads_, call.width);
    const int64_t elements = encoding.RowElements(call.width);
    const Shape shape{call.batch, kv_heads_, call.capacity, elements};
    Tensor* cache = wanted ? context.output(i, shape) : nullptr;
    const ElementType type = encoding.exist() ? encoding.type() : past != nullptr ? past->type() : cache->type();
    for (const Tensor* held : {past, static_cast<const Tensor*>(cache)}) {
      if (held == nullptr) continue;
      const bool holds_quantized = held->is(ElementType::kInt8) || held->is(ElementType::kUInt8);
      Require(held->is(type) && holds_quantized == encoding.exist(), "a cache holds {}, which is not what {} says",
              ElementTypeName(held->type()), i == 1 ? "k_quant_type" : "v_quant_type");
    }
    if (past != nullptr) {
      const Shape& s = past->shape();
      Require(s.rank() == 4 && s[0] == call.batch && s[1] == kv_heads_ && s[2] == context.input(3)->shape()[2] &&
                  s[3] == elements,
              "the past is {}; [{},{},*,{}] is expected", s, call.batch, kv_heads_, elements);
    }
    Tensor local;
    const auto make_local = [&](int64_t capacity) {
      const Shape all{call.batch, kv_heads_, capacity, elements};
      local = Tensor::View(type, all, context.scratch<uint8_t>(ByteSize(type, all.num_elements())).data());
      return &local;
    };
    if (slides_) {
      const int64_t capacity = *std::max_element(call.kept, call.kept + call.batch) + call.steps;
      WriteCache(context.threads(), past, call.kept, rows, capacity, *make_local(capacity), encoding);
      if (cache != nullptr) Slide(context.threads(), call, local, past, *cache);
      return ReadCache(context, local, kv_heads_, capacity, call.width, read, encoding);
    }
    if (cache == nullptr) cache = make_local(call.capacity);
    WriteCache(context.threads(), past, call.past, rows, call.capacity, *cache, encoding);
    return ReadCache(context, *cache, kv_heads_, call.capacity, call.width, read, encoding);
  }

  /// The last rows of `all` that a cache of the window's kind still holds.
  void Slide(ThreadPool& threads, const Call& call, const Tensor& all, const Tensor* past, Tensor& cache) const {
    const auto row = static_cast<int64_t>(ByteSize(cache.type(), cache.shape()[3]));
    const int64_t capacity = all.shape()[2];
    const bool shared = past != nullptr && past->raw() == cache.raw();
    threads.ParallelFor(
        call.batch * kv_heads_, static_cast<double>(call.capacity * row) * 0.1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t b = i / kv_heads_, rows = std::min(Resident(call.total[b], call.capacity), call.lengths[b]);
            const auto* from = static_cast<const uint8_t*>(all.raw()) + (i * capacity + call.lengths[b] - rows) * row;
            auto* to = static_cast<uint8_t*>(cache.mutable_raw()) + i * call.capacity * row;
            CopyCancellably(to, from, rows * row);
            if (!shared) ClearCancellably(to + rows * row, static_cast<size_t>((call.capacity - rows) * row));
          }
        });
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
  bool causal_, rotary_, interleaved_, smooth_, slides_ = false;
  int64_t captured_;
  float scale_, softcap_, norm_epsilon_;
  CacheQuantization keys_, values_;
  int bits_ = 0;
  bool rounds_;
};

}  // namespace

void RegisterGroupQueryAttention(KernelRegistry& registry) {
  constexpr TypeSet kTypes = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};
  constexpr TypeSet kCaches = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16, ElementType::kInt8,
                               ElementType::kUInt8};
  registry.Add(Op("GroupQueryAttention", "com.microsoft")
                   .Types(0, kTypes)
                   .Types(3, kCaches)
                   .Types(4, kCaches)
                   .InPlace(3, 1)
                   .InPlace(4, 2)
                   .Make<GroupQueryAttention>());
}

}  // namespace tessera::cpu
