// GroupQueryAttention, com.microsoft, version 1: decoders' attention, with its cache of keys and values and rotary
// positions.

#include "ops/attention/group_query_attention.h"
#include "base/cancellable_memory.h"
#include "cpu/ops/microsoft/attention_parts.h"
#include "cpu/ops/microsoft/normalize_row.h"
#include "cpu/ops/ops.h"
#include "cpu/rounding.h"
#include "cpu/types.h"
#include "kernels/attention/rotary.h"
#include "ops/attention/attention_scale.h"

namespace tessera::cpu {
namespace {

/// Tables of cosines and sines, [positions, half] each.
struct RotaryTables {
  const float* cosines = nullptr;
  const float* sines = nullptr;
  int64_t half = 0;
};

/// What happens to heads of queries or keys before they meet: normalization, then rotation.
struct HeadChanges {
  const float* norm = nullptr;  // weights, [width]
  RotaryTables tables;          // of half 0: nothing is turned
  std::span<const int64_t> positions;
};

/// One call's sizes. A sentence has had `past` tokens before the call, `total` after it; the last `kept` of the former are
/// in its cache, and the call's queries see `lengths` keys, which are these and the new ones.
struct Call : GroupQuerySizes {
  const int64_t* past;
  const int64_t* total;
  const int64_t* kept;
  const int64_t* lengths;
};

class GroupQueryAttention final : public Kernel {
 public:
  explicit GroupQueryAttention(const KernelInfo& info)
      : attributes_(info.node()),
        heads_(attributes_.heads),
        kv_heads_(attributes_.kv_heads),
        rounds_(RoundsOperands(info.provider(), info.graph(), info.node())) {}

  void Compute(KernelContext& context) override {
    const Tensor& query = context.required_input(0);
    const Call call = MakeCall(context);
    NewRows q, k, v;
    SplitHeads(context, query, call, q, k, v);
    Change(context, call, q, k);
    AttentionProblem<float> problem;
    problem.sizes = {call.batch, heads_, kv_heads_, call.steps, 0, call.width, call.width};
    for (int64_t b = 0; b < call.batch; ++b)
      problem.sizes.keys = std::max(problem.sizes.keys, call.is_prompt ? call.steps : call.lengths[b]);
    problem.q = q.at;
    problem.k = Keep(context, 1, attributes_.keys, call, k, problem.sizes.keys);
    problem.v = Keep(context, 2, attributes_.values, call, v, problem.sizes.keys);
    Tensor* y = context.output(0, {call.batch, call.steps, heads_ * call.width});
    if (y == nullptr || y->num_elements() == 0) return;
    problem.rounds = rounds_;
    problem.scale = AttentionScale(attributes_.scale, call.width);
    problem.softcap = attributes_.softcap;
    problem.bias = Bias(context, call, problem.sizes);
    problem.sinks = Sinks(context);
    problem.range.causal = attributes_.causal;
    if (attributes_.window > 0) problem.range.left = attributes_.window - 1;
    if (!call.is_prompt || !attributes_.causal) problem.range.lengths = call.lengths;
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
    problem.capture = attributes_.capture == 2 ? CaptureStage::kSoftmax : CaptureStage::kBias;
    problem.captured = capture.data();
    ScaledDotProduct<float>(context, problem);
    capture.Finish();
  }

  Call MakeCall(KernelContext& context) const {
    Call call{GroupQuerySizes(attributes_, context), nullptr, nullptr, nullptr, nullptr};
    const auto batch = static_cast<size_t>(call.batch);
    const bool slides = attributes_.slides;
    const auto past = context.scratch<int64_t>(batch), totals = context.scratch<int64_t>(batch);
    const auto kept = slides ? context.scratch<int64_t>(batch) : past;
    const auto seen = slides ? context.scratch<int64_t>(batch) : totals;
    for (int64_t b = 0; b < call.batch; ++b) {
      totals[b] = call.Total(b);
      past[b] = call.Past(b);
      if (!slides) continue;
      kept[b] = Resident(past[b], call.held);
      seen[b] = kept[b] + totals[b] - past[b];
    }
    call.kept = kept.data();
    call.lengths = seen.data();
    call.past = past.data();
    call.total = totals.data();
    return call;
  }

  /// How many of `tokens` a cache of the window's kind still holds: when it is full, a run of them goes at once.
  int64_t Resident(int64_t tokens, int64_t capacity) const {
    const int64_t run = capacity - attributes_.window + 1;
    return tokens <= capacity ? tokens : tokens - CeilDiv(tokens - capacity, run) * run;
  }

  /// Columns of the bias are positions; a cache that slides begins with a later one.
  AttentionBias<float> Bias(KernelContext& context, const Call& call, const AttentionSizes& s) const {
    const Tensor* tensor = context.input(10);
    AttentionSizes whole = s;
    if (attributes_.slides) whole.keys = *std::max_element(call.total, call.total + call.batch);
    const AttentionBias<float> bias = FitBias(context, tensor, whole);
    if (bias.data == nullptr || !attributes_.slides) return bias;
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

  void SplitHeads(KernelContext& context, const Tensor& query, const Call& call, NewRows& q, NewRows& k, NewRows& v) const {
    const float* data = RealView<float>(context, query);
    const int64_t row = query.shape()[2];
    const auto part = [&](const float* from, int64_t heads, int64_t stride) {
      return NewRows{{from, call.steps * stride, call.width, stride}, call.batch, heads, call.steps, call.width};
    };
    q = part(data, heads_, row);
    if (call.packed) {
      k = part(data + heads_ * call.width, kv_heads_, row);
      v = part(data + (heads_ + kv_heads_) * call.width, kv_heads_, row);
      return;
    }
    k = part(RealView<float>(context, context.required_input(1)), kv_heads_, kv_heads_ * call.width);
    v = part(RealView<float>(context, context.required_input(2)), kv_heads_, kv_heads_ * call.width);
  }

  /// Where each new token stands.
  std::span<const int64_t> Positions(KernelContext& context, const Call& call, const RotaryCacheSizes& caches) const {
    const auto positions = context.scratch<int64_t>(static_cast<size_t>(call.batch * call.steps));
    const Tensor* given = context.input(9);
    CheckPositionIds(call, given);
    for (int64_t i = 0; i < call.batch * call.steps; ++i)
      positions[i] = TokenPosition(call, given, caches, i / call.steps, i % call.steps);
    return positions;
  }

  void Change(KernelContext& context, const Call& call, NewRows& q, NewRows& k) const {
    HeadChanges changes;
    if (attributes_.rotary) {
      const Tensor &cosines = context.required_input(7), &sines = context.required_input(8);
      const RotaryCacheSizes caches(cosines.shape(), sines.shape(), call.width);
      changes.tables = {RealView<float>(context, cosines), RealView<float>(context, sines), caches.half};
      changes.positions = Positions(context, call, caches);
    }
    const auto change = [&](size_t weights, NewRows& rows) {
      const Tensor* norm = context.input(weights);
      if (norm != nullptr) {
        Require(norm->num_elements() == call.width, "the weights of the heads' norm are {}; [{}] is expected",
                norm->shape(), call.width);
        changes.norm = RealView<float>(context, *norm);
      }
      if (attributes_.rotary || norm != nullptr) ChangeHeads(context, changes, rows);
    };
    change(14, q);
    change(15, k);
  }

  void ChangeHeads(KernelContext& context, const HeadChanges& changes, NewRows& part) const {
    const int64_t row = part.heads * part.width, half = changes.tables.half, count = part.batch * part.rows * part.heads;
    const auto rotate = attributes_.interleaved ? RotatePairs : RotateHalves;
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
          NormalizeRow<float, false>(from, part.width, attributes_.norm_epsilon, {changes.norm, nullptr}, own);
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
  Heads<const float> Keep(KernelContext& context, size_t i, const GroupQueryAttentionAttributes::Quantization& quantization,
                          const Call& call, const NewRows& rows, int64_t read) const {
    const bool wanted = context.has_output(i);
    const Tensor* past = context.input(i + 2);
    if (past == nullptr && !wanted && !quantization.exists) return rows.at;
    CacheEncoding encoding;
    if (quantization.exists)
      encoding = EncodingWith(context, static_cast<int>(attributes_.bits), context.input(i + 11), quantization.by_channel,
                              kv_heads_, call.width);
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
    if (attributes_.slides) {
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
    if (!attributes_.smooth) return nullptr;
    const auto zeros = context.scratch<float>(static_cast<size_t>(heads_));
    std::fill(zeros.begin(), zeros.end(), 0.0f);
    return zeros.data();
  }

  GroupQueryAttentionAttributes attributes_;
  int64_t heads_, kv_heads_;
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
