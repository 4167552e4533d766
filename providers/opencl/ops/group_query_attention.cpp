// com.microsoft GroupQueryAttention (1): decoders' attention, with its cache of keys and values and rotary positions.

#include <memory>

#include "base/checked.h"
#include "opencl/gemm/panel_gemm.h"
#include "opencl/ops/attention.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in group_query_attention.cl.
struct Parts {
  cl_long batch, steps, heads, width, half_width, x_row, x_first, y_batch, y_head, y_row;
  cl_int rotated, interleaved, appends, padding = 0;
};

class GroupQueryAttention final : public Kernel {
 public:
  explicit GroupQueryAttention(const KernelInfo& info)
      : device_(DeviceOf(info)),
        type_(info.input_type(0)),
        place_(device_, "group_query_attention", Computed('X', type_), "place"),
        keep_(device_, "group_query_attention", Computed('X', type_), "keep"),
        heads_in_query_(HeadsInQuery(info)),
        attention_(info, {type_, type_, type_, info.output_type(0)},
                   KnownHeads(info, heads_in_query_, info.attribute<int64_t>("kv_num_heads", 0))),
        heads_(info.attribute<int64_t>("num_heads")),
        kv_heads_(info.attribute<int64_t>("kv_num_heads")),
        window_(info.attribute<int64_t>("local_window_size", -1)),
        causal_(info.attribute<int64_t>("causal", 1) != 0),
        rotary_(info.attribute<int64_t>("do_rotary", 0) != 0),
        interleaved_(info.attribute<int64_t>("rotary_interleaved", 0) != 0),
        scale_(info.attribute<float>("scale", 0.0f)),
        softcap_(info.attribute<float>("softcap", 0.0f)) {
    Require(heads_ > 0 && kv_heads_ > 0 && heads_ % kv_heads_ == 0, "num_heads is {} and kv_num_heads {}", heads_,
            kv_heads_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& query = context.required_input(0);
    const Shape& qs = query.shape();
    Require(qs.rank() == 3, "the query is {}; 3 dimensions are expected", qs);
    const bool packed = context.input(1) == nullptr;
    Require(qs[2] % heads_in_query_ == 0, "the query is {}, which does not divide into {} heads", qs, heads_in_query_);
    const Call call = MakeCall(context, qs, qs[2] / heads_in_query_);
    const Tensor& key = packed ? query : context.required_input(1);
    const Tensor& value = packed ? query : context.required_input(2);
    const Shape expected{call.batch, call.steps, kv_heads_ * call.width};
    Require(packed ? context.input(2) == nullptr
                   : key.shape() == expected && value.shape() == expected && key.type() == type_ && value.type() == type_,
            "key and value are {} and {}; {} is expected", key.shape(), value.shape(), expected);
    const Tensor& y = *context.output(0, {call.batch, call.steps, heads_ * call.width});
    const Cache keys = MakeCache(context, 1, call), values = MakeCache(context, 2, call);
    if (y.num_elements() == 0) return;
    const Buffer facts = device_.BufferOf(call.facts.data(), call.facts.size_bytes());
    Fill(context, keys, context.input(3), facts, call);
    Fill(context, values, context.input(4), facts, call);
    const int64_t row = qs[2];
    Append(context, key, packed ? row : expected[2], packed ? heads_ * call.width : 0, rotary_, keys, facts, call);
    Append(context, value, packed ? row : expected[2], packed ? (heads_ + kv_heads_) * call.width : 0, false, values, facts,
           call);
    Attend(context, query, keys, values, y, facts, call);
  }

 private:
  /// Heads that the query's rows consist of: keys' and values' too where they are packed.
  static int64_t HeadsInQuery(const KernelInfo& info) {
    return info.attribute<int64_t>("num_heads") + (info.has_input(1) ? 0 : 2 * info.attribute<int64_t>("kv_num_heads"));
  }
  /// One call's sizes. facts: rows of the past by batch, all rows by batch, positions of tokens.
  struct Call {
    int64_t batch, steps, width, held = 0, capacity = 0, longest = 0;
    bool is_prompt = false;
    std::span<int64_t> facts;
  };

  /// Keys or values [batch, heads, capacity, width].
  struct Cache {
    BufferRange range;
    std::unique_ptr<DeviceScratch> own;
  };

  Call MakeCall(KernelContext& context, const Shape& query, int64_t width) const {
    Call call{.batch = query[0], .steps = query[1], .width = width};
    const Tensor &lengths = context.required_input(5), &total_input = context.required_input(6);
    Require(total_input.num_elements() == 1 && total_input.is(ElementType::kInt32) && lengths.is(ElementType::kInt32) &&
                lengths.num_elements() == call.batch,
            "seqlens_k is {} and total_sequence_length {}, the batch {}", lengths.shape(), total_input.shape(), call.batch);
    const int64_t total = total_input.data<int32_t>()[0];
    const Tensor *past = context.input(3), *past_value = context.input(4);
    Require((past == nullptr) == (past_value == nullptr), "past_key and past_value must be given together");
    if (past != nullptr) {
      const Shape& s = past->shape();
      Require(s.rank() == 4 && s[0] == call.batch && s[1] == kv_heads_ && s[3] == width && past_value->shape() == s &&
                  past->type() == type_ && past_value->type() == type_,
              "the past is {}; [{},{},*,{}] is expected", s, call.batch, kv_heads_, width);
      call.held = s[2];
    }
    Require(total >= call.steps && total <= call.held + call.steps,
            "total_sequence_length is {} with {} new tokens and a past of {} rows", total, call.steps, call.held);
    call.is_prompt = total == call.steps;
    call.capacity = std::max(call.held, total);
    call.facts = context.scratch<int64_t>(static_cast<size_t>(call.batch * (2 + call.steps)));
    for (int64_t b = 0; b < call.batch; ++b) {
      const int64_t all = int64_t{lengths.data<int32_t>()[b]} + 1, before = call.is_prompt ? 0 : all - call.steps;
      Require(all >= 1 && all <= total && before >= 0 && before <= call.held,
              "seqlens_k holds {} for {} new tokens and a total of {}", all - 1, call.steps, total);
      call.facts[static_cast<size_t>(b)] = before;
      call.facts[static_cast<size_t>(call.batch + b)] = all;
      call.longest = std::max(call.longest, call.is_prompt ? call.steps : all);
    }
    if (rotary_) FindPositions(context, call);
    return call;
  }

  static void FindPositions(KernelContext& context, const Call& call) {
    const Tensor &cosine = context.required_input(7), &sine = context.required_input(8), *given = context.input(9);
    const Shape& s = cosine.shape();
    Require(s.rank() == 2 && s == sine.shape() && 2 * s[1] <= call.width,
            "cos_cache is {} and sin_cache {} for heads of {}", s, sine.shape(), call.width);
    const int64_t tokens = call.batch * call.steps;
    Require(given == nullptr || (given->is(ElementType::kInt64) && given->num_elements() == tokens),
            "position_ids is {}; [{},{}] is expected", OptionalShape{given}, call.batch, call.steps);
    for (int64_t i = 0; i < tokens; ++i) {
      const int64_t position =
          given != nullptr ? given->data<int64_t>()[i] : call.facts[static_cast<size_t>(i / call.steps)] + i % call.steps;
      Require(position >= 0 && position < s[0], "position {} is outside the caches' {} rows", position, s[0]);
      call.facts[static_cast<size_t>(2 * call.batch + i)] = position;
    }
  }

  Cache MakeCache(KernelContext& context, size_t output, const Call& call) const {
    const Shape shape{call.batch, kv_heads_, call.capacity, call.width};
    const Tensor* wanted = context.has_output(output) ? context.output(output, shape) : nullptr;
    if (shape.num_elements() == 0) return {};
    if (wanted != nullptr) return {DeviceAllocator::Find(wanted->raw()), nullptr};
    auto own = std::make_unique<DeviceScratch>(context, ByteSize(type_, shape.num_elements()));
    const BufferRange range = own->range();
    return {range, std::move(own)};
  }

  /// What the past held, and zeros behind the new rows, whether or not the memory is the past's.
  void Fill(KernelContext& context, const Cache& cache, const Tensor* past, const Buffer& facts, const Call& call) {
    if (call.capacity == 0) return;
    keep_.Linear(context, call.batch * kv_heads_ * call.capacity * call.width, past, BufferRange{facts.get(), 0},
                 cache.range, cl_long{call.batch}, cl_long{kv_heads_}, cl_long{call.held}, cl_long{call.capacity},
                 cl_long{call.width});
  }

  void Append(KernelContext& context, const Tensor& x, int64_t row, int64_t first, bool rotated, const Cache& cache,
              const Buffer& facts, const Call& call) {
    const Parts p = PartsOf(context, call, kv_heads_, row, first, rotated);
    Parts to = p;
    to.y_batch = kv_heads_ * call.capacity * call.width;
    to.y_head = call.capacity * call.width;
    to.y_row = call.width;
    to.appends = 1;
    WriteHeads(context, x, cache.range, facts, to);
  }

  Parts PartsOf(KernelContext& context, const Call& call, int64_t heads, int64_t row, int64_t first, bool rotated) const {
    return {.batch = call.batch,
            .steps = call.steps,
            .heads = heads,
            .width = call.width,
            .half_width = rotated ? context.required_input(7).shape()[1] : 0,
            .x_row = row,
            .x_first = first,
            .y_batch = call.steps * heads * call.width,
            .y_head = call.width,
            .y_row = heads * call.width,
            .rotated = rotated,
            .interleaved = interleaved_,
            .appends = 0};
  }

  void WriteHeads(KernelContext& context, const Tensor& x, BufferRange to, const Buffer& facts, const Parts& p) {
    const Tensor *cosine = p.rotated ? context.input(7) : nullptr, *sine = p.rotated ? context.input(8) : nullptr;
    place_.Linear(context, p.batch * p.steps * p.heads * p.width, x, cosine, sine, BufferRange{facts.get(), 0}, to, p);
  }

  void Attend(KernelContext& context, const Tensor& query, const Cache& keys, const Cache& values, const Tensor& y,
              const Buffer& facts, const Call& call) {
    const int64_t hidden = heads_ * call.width, row = query.shape()[2];
    AttentionProblem p{.batch = call.batch,
                       .q_heads = heads_,
                       .kv_heads = kv_heads_,
                       .queries = call.steps,
                       .keys = call.longest,
                       .width = call.width,
                       .value_width = call.width,
                       .q_batch = call.steps * row,
                       .q_head = call.width,
                       .q_row = row};
    std::unique_ptr<DeviceScratch> rotated;
    BufferRange q = DeviceAllocator::Find(query.raw());
    if (rotary_) {
      rotated = std::make_unique<DeviceScratch>(context, ByteSize(type_, call.batch * call.steps * hidden));
      q = rotated->range();
      WriteHeads(context, query, q, facts, PartsOf(context, call, heads_, row, 0, true));
      p.q_batch = call.steps * hidden;
      p.q_row = hidden;
    }
    p.k_batch = p.v_batch = kv_heads_ * call.capacity * call.width;
    p.k_head = p.v_head = call.capacity * call.width;
    p.k_row = p.v_row = call.width;
    p.y_batch = call.steps * hidden;
    p.y_head = call.width;
    p.y_row = hidden;
    p.left = window_ > 0 ? window_ - 1 : -1;
    p.right = -1;
    p.causal = causal_;
    p.scale = scale_ != 0 ? scale_ : DefaultAttentionScale(call.width);
    p.softcap = softcap_;
    const bool by_length = !call.is_prompt || !causal_;
    const BufferRange none, lengths{facts.get(), static_cast<size_t>(call.batch) * sizeof(cl_long)};
    attention_.Run(context, q, keys.range, values.range, nullptr, by_length ? lengths : none, y, p);
  }

  Device& device_;
  ElementType type_;
  Launchable place_, keep_;
  const int64_t heads_in_query_;
  ScaledDotProduct attention_;
  int64_t heads_, kv_heads_, window_;
  bool causal_, rotary_, interleaved_;
  float scale_, softcap_;
};

}  // namespace

void RegisterGroupQuery(KernelRegistry& registry) {
  constexpr TypeSet kTypes = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};
  registry.Add(Op("GroupQueryAttention", "com.microsoft")
                   .Types(0, kTypes)
                   .Types(3, kTypes)
                   .Types(4, kTypes)
                   .HostInput(5)
                   .HostInput(6)
                   .HostInput(9)
                   .InPlace(3, 1)
                   .InPlace(4, 2)
                   .Make<GroupQueryAttention>());
}

}  // namespace tessera::opencl
