// com.microsoft GroupQueryAttention (1): decoders' attention, with its cache of keys and values and rotary positions.

#include <memory>

#include "base/checked.h"
#include "opencl/device/scratch.h"
#include "opencl/ops/attention.h"
#include "ops/attention/attention_scale.h"
#include "ops/attention/group_query_attention.h"

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
      : attributes_(info.node()),
        heads_(attributes_.heads),
        kv_heads_(attributes_.kv_heads),
        device_(DeviceOf(info)),
        type_(info.input_type(0)),
        place_(device_, "group_query_attention", Computed('X', type_), "place"),
        keep_(device_, "group_query_attention", Computed('X', type_), "keep"),
        attention_(info, {type_, type_, type_, info.output_type(0)},
                   KnownHeads(info, attributes_.HeadsInQuery(!info.has_input(1)), kv_heads_)) {}

  void Compute(KernelContext& context) override {
    const Tensor& query = context.required_input(0);
    const Call call = MakeCall(context);
    const Tensor &key = call.packed ? query : context.required_input(1),
                 &value = call.packed ? query : context.required_input(2);
    Require(key.type() == type_ && value.type() == type_, "query, key and value have several types");
    const Tensor& y = *context.output(0, {call.batch, call.steps, heads_ * call.width});
    const Cache keys = MakeCache(context, 1, call), values = MakeCache(context, 2, call);
    if (y.num_elements() == 0) return;
    const SentData sent(context, call.facts.data(), call.facts.size_bytes());
    const BufferRange facts = sent.range();
    Fill(context, keys, context.input(3), facts, call);
    Fill(context, values, context.input(4), facts, call);
    const int64_t row = key.shape()[2], keys_at = call.packed ? heads_ * call.width : 0,
                  values_at = call.packed ? keys_at + kv_heads_ * call.width : 0;
    Append(context, key, row, keys_at, attributes_.rotary, keys, facts, call);
    Append(context, value, row, values_at, false, values, facts, call);
    Attend(context, query, keys, values, y, facts, call);
  }

 private:
  /// facts: rows of the past by batch, all rows by batch, positions of tokens.
  struct Call : GroupQuerySizes {
    int64_t longest = 0;
    std::span<int64_t> facts;
  };

  /// Keys or values [batch, heads, capacity, width].
  struct Cache {
    BufferRange range;
    std::unique_ptr<DeviceScratch> own;
  };

  Call MakeCall(KernelContext& context) const {
    Call call{GroupQuerySizes(attributes_, context)};
    for (const size_t i : {3, 4}) {
      const Tensor* past = context.input(i);
      Require(past == nullptr ||
                  (past->shape() == Shape({call.batch, kv_heads_, call.held, call.width}) && past->type() == type_),
              "the past is {}; [{},{},*,{}] is expected", OptionalShape{past}, call.batch, kv_heads_, call.width);
    }
    call.facts = context.scratch<int64_t>(static_cast<size_t>(call.batch * (2 + call.steps)));
    for (int64_t b = 0; b < call.batch; ++b) {
      const int64_t total = call.Total(b);
      call.facts[static_cast<size_t>(b)] = call.Past(b);
      call.facts[static_cast<size_t>(call.batch + b)] = total;
      call.longest = std::max(call.longest, call.is_prompt ? call.steps : total);
    }
    if (attributes_.rotary) FindPositions(context, call);
    return call;
  }

  static void FindPositions(KernelContext& context, const Call& call) {
    const RotaryCacheSizes caches(context.required_input(7).shape(), context.required_input(8).shape(), call.width);
    const Tensor* given = context.input(9);
    CheckPositionIds(call, given);
    for (int64_t i = 0; i < call.batch * call.steps; ++i) {
      call.facts[static_cast<size_t>(2 * call.batch + i)] =
          TokenPosition(call, given, caches, i / call.steps, i % call.steps);
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
  void Fill(KernelContext& context, const Cache& cache, const Tensor* past, const BufferRange& facts, const Call& call) {
    if (call.capacity == 0) return;
    keep_.Linear(context, call.batch * kv_heads_ * call.capacity * call.width, past, facts, cache.range,
                 cl_long{call.batch}, cl_long{kv_heads_}, cl_long{call.held}, cl_long{call.capacity}, cl_long{call.width});
  }

  void Append(KernelContext& context, const Tensor& x, int64_t row, int64_t first, bool rotated, const Cache& cache,
              const BufferRange& facts, const Call& call) {
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
            .interleaved = attributes_.interleaved,
            .appends = 0};
  }

  void WriteHeads(KernelContext& context, const Tensor& x, BufferRange to, const BufferRange& facts, const Parts& p) {
    const Tensor *cosine = p.rotated ? context.input(7) : nullptr, *sine = p.rotated ? context.input(8) : nullptr;
    place_.Linear(context, p.batch * p.steps * p.heads * p.width, x, cosine, sine, facts, to, p);
  }

  void Attend(KernelContext& context, const Tensor& query, const Cache& keys, const Cache& values, const Tensor& y,
              const BufferRange& facts, const Call& call) {
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
    if (attributes_.rotary) {
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
    p.left = attributes_.window > 0 ? attributes_.window - 1 : -1;
    p.right = -1;
    p.causal = attributes_.causal;
    p.scale = AttentionScale(attributes_.scale, call.width);
    p.softcap = attributes_.softcap;
    const bool by_length = !call.is_prompt || !attributes_.causal;
    const BufferRange none, lengths{facts.buffer, facts.offset + static_cast<size_t>(call.batch) * sizeof(cl_long)};
    attention_.Run(context, q, keys.range, values.range, nullptr, by_length ? lengths : none, y, p);
  }

  const GroupQueryAttentionAttributes attributes_;
  const int64_t heads_, kv_heads_;
  Device& device_;
  ElementType type_;
  Launchable place_, keep_;
  ScaledDotProduct attention_;
};

std::string GroupQueryRefusal(const NodeInfo& info) {
  const GroupQueryAttentionAttributes attributes(info.node());
  if (info.has_input(10) || info.has_input(11) || info.has_input(14) || info.has_input(15) || attributes.smooth)
    return "biases, sinks and norms of heads are left to the CPU provider";
  if (info.has_output(3)) return "scores are given out by the CPU provider only";
  if (attributes.keys.exists || attributes.values.exists) return "quantized caches are not read on the device";
  if (attributes.slides) return "caches of the size of the window are not supported";
  for (const size_t i : {1, 2, 3, 4, 7, 8}) {
    if (info.has_input(i) && info.input_type(i) != info.input_type(0))
      return "queries and caches of several types are left to the CPU provider";
  }
  return {};
}

}  // namespace

void RegisterGroupQueryAttention(KernelRegistry& registry) {
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
                   .Unless(GroupQueryRefusal)
                   .Make<GroupQueryAttention>());
}

}  // namespace tessera::opencl
