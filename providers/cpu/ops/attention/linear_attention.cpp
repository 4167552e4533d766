// LinearAttention (27), and version 1 of com.microsoft, from which it came.

#include <cmath>
#include <optional>

#include "base/checked.h"
#include "base/rounding.h"
#include "ops/attention/real_tensor.h"
#include "ops/ops.h"
#include "simd/linear_attention.h"

namespace tessera::cpu {
namespace {

struct LinearAttentionSizes {
  int64_t batch, steps, heads, width, value_width;  // heads: of keys and values
};

class LinearAttention final : public Kernel {
 public:
  explicit LinearAttention(const KernelInfo& info)
      : q_heads_(info.attribute<int64_t>("q_num_heads")),
        kv_heads_(info.attribute<int64_t>("kv_num_heads")),
        scale_(info.attribute<float>("scale", 0.0f)) {
    Require(q_heads_ > 0 && kv_heads_ > 0, "q_num_heads is {} and kv_num_heads {}", q_heads_, kv_heads_);
    // com.microsoft's queries may also be for several keys each.
    const bool fits = q_heads_ % kv_heads_ == 0 || (kv_heads_ % q_heads_ == 0 && !info.node().domain.empty());
    Require(fits, "{} query heads are no positive multiple of {} key heads", q_heads_, kv_heads_);
    out_heads_ = std::max(q_heads_, kv_heads_);
    Require(info.attribute<int64_t>("state_window", 0) == 0, "states of several steps (state_window) are not supported");
    const auto rule = info.attribute<std::string>("update_rule", "gated_delta");
    gated_ = rule == "gated" || rule == "gated_delta";
    delta_ = rule == "delta" || rule == "gated_delta";
    Require(gated_ || delta_ || rule == "linear", "update_rule is '{}'; linear, gated, delta and gated_delta are known", rule);
    Require(info.has_input(4) == gated_, "update_rule '{}' {} decay", rule, gated_ ? "needs" : "has no");
    Require(info.has_input(5) == delta_, "update_rule '{}' {} beta", rule, delta_ ? "needs" : "has no");
  }

  void Compute(KernelContext& context) override {
    const Tensor& query = context.required_input(0);
    const Tensor& value = context.required_input(2);
    const Tensor* past = context.input(3);
    const LinearAttentionSizes s = Check(query.shape(), context.required_input(1).shape(), value.shape(), past);
    Tensor* y = context.output(0, Shape{s.batch, s.steps, CheckedMul(out_heads_, s.value_width)});
    Tensor* present = context.output(1, Shape{s.batch, s.heads, s.width, s.value_width});

    LinearAttentionBlock all{};
    all.steps = s.steps;
    all.width = s.width;
    all.group = out_heads_ / kv_heads_;
    all.scale = scale_ != 0 ? scale_ : 1 / std::sqrt(static_cast<float>(std::max<int64_t>(s.width, 1)));
    all.q = RealView<float>(context, query);
    all.k = RealView<float>(context, context.required_input(1));
    all.v = RealView<float>(context, value);
    all.q_step = q_heads_ * s.width;
    all.k_step = s.heads * s.width;
    all.v_step = s.heads * s.value_width;
    all.out_step = out_heads_ * s.value_width;
    all.out_head = s.value_width;
    if (gated_) SetDecay(context, context.required_input(4), s, all);
    if (delta_) SetBeta(context, context.required_input(5), s, all);
    const float* before = past == nullptr ? nullptr : RealView<float>(context, *past);
    const auto count = static_cast<size_t>(y == nullptr ? s.batch * s.steps * all.out_step : 0);
    float* unwanted = context.scratch<float>(count).data();
    std::optional<RealResult<float>> result, after;
    if (y != nullptr) result.emplace(context, *y);
    if (present != nullptr) after.emplace(context, *present);
    all.out = result ? result->data() : unwanted;
    Run(context, s, all, before, after ? after->data() : nullptr);
    if (result) result->Finish();
    if (after) after->Finish();
  }

 private:
  /// Blocks of columns are independent: each walks all steps with its part of the state close by.
  void Run(KernelContext& context, const LinearAttentionSizes& s, const LinearAttentionBlock& all, const float* before, float* after) const {
    constexpr int64_t kColumns = kLinearAttentionColumns;
    const int64_t blocks = CeilDiv(s.value_width, kColumns);
    const int64_t tasks = CheckedMul(CheckedMul(s.batch, s.heads), blocks);
    const int64_t parts = std::clamp<int64_t>(tasks, 1, 4 * context.threads().num_threads());
    const int64_t state_size = s.width * kColumns;
    float* states = context.scratch<float>(static_cast<size_t>(CheckedMul(parts, state_size))).data();
    const double cost = static_cast<double>(s.steps + 2) * static_cast<double>(state_size) * 0.1 * static_cast<double>(all.group + 2);
    context.threads().ParallelFor(parts, cost * static_cast<double>(tasks) / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        for (int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) {
          if (context.cancelled()) return;
          const int64_t column = task % blocks * kColumns;
          const int64_t head = task / blocks % s.heads, b = task / blocks / s.heads;
          LinearAttentionBlock block = all;
          block.columns = std::min(kColumns, s.value_width - column);
          block.state = states + part * state_size;
          const int64_t rows = (b * s.heads + head) * s.width;
          for (int64_t row = 0; row < s.width; ++row) {
            float* to = block.state + row * kColumns;
            std::fill_n(to, kColumns, 0.0f);
            if (before != nullptr) std::copy_n(before + (rows + row) * s.value_width + column, block.columns, to);
          }
          block.q += b * s.steps * all.q_step + head * q_heads_ / kv_heads_ * s.width;
          block.k += b * s.steps * all.k_step + head * s.width;
          block.v += b * s.steps * all.v_step + head * s.value_width + column;
          block.out += b * s.steps * all.out_step + head * all.group * s.value_width + column;
          if (block.decay != nullptr) block.decay += b * s.steps * all.decay_step + head * (all.decay_row != 0 ? s.width : 1);
          if (block.beta != nullptr) block.beta += b * s.steps * all.beta_step + (all.beta_step == 1 ? 0 : head);
          RunLinearAttention(block);
          for (int64_t row = 0; after != nullptr && row < s.width; ++row) {
            std::copy_n(block.state + row * kColumns, block.columns, after + (rows + row) * s.value_width + column);
          }
        }
      }
    });
  }

  LinearAttentionSizes Check(const Shape& q, const Shape& k, const Shape& v, const Tensor* past) const {
    Require(q.rank() == 3 && k.rank() == 3 && v.rank() == 3, "query is {}, key {} and value {}; all need 3 dimensions", q,
            k, v);
    Require(q[2] % q_heads_ == 0 && k[2] % kv_heads_ == 0 && v[2] % kv_heads_ == 0,
            "query {}, key {} and value {} do not divide into {} and {} heads", q, k, v, q_heads_, kv_heads_);
    const LinearAttentionSizes s{q[0], q[1], kv_heads_, q[2] / q_heads_, v[2] / kv_heads_};
    Require(k[0] == s.batch && v[0] == s.batch && k[1] == s.steps && v[1] == s.steps && k[2] / kv_heads_ == s.width,
            "query is {}, key {} and value {}: batches, steps or head sizes differ", q, k, v);
    Require(past == nullptr || past->shape() == Shape({s.batch, s.heads, s.width, s.value_width}), "past_state needs the shape [{},{},{},{}]",
            s.batch, s.heads, s.width, s.value_width);
    return s;
  }

  static void SetDecay(KernelContext& context, const Tensor& decay, const LinearAttentionSizes& s, LinearAttentionBlock& block) {
    const Shape& shape = decay.shape();
    Require(shape.rank() == 3 && shape[0] == s.batch && shape[1] == s.steps && (shape[2] == s.heads || shape[2] == s.heads * s.width),
            "decay is {}; [{},{},{}] or [{},{},{}] is expected", shape, s.batch, s.steps, s.heads, s.batch, s.steps,
            s.heads * s.width);
    block.decay_row = shape[2] == s.heads ? 0 : 1;
    block.decay_step = shape[2];
    const int64_t count = decay.num_elements();
    const float* logs = RealView<float>(context, decay);
    float* factors = context.scratch<float>(static_cast<size_t>(count)).data();
    context.threads().ParallelFor(count, 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) factors[i] = std::exp(logs[i]);
    });
    block.decay = factors;
  }

  static void SetBeta(KernelContext& context, const Tensor& beta, const LinearAttentionSizes& s, LinearAttentionBlock& block) {
    const Shape& shape = beta.shape();
    Require(shape.rank() == 3 && shape[0] == s.batch && shape[1] == s.steps && (shape[2] == s.heads || shape[2] == 1),
            "beta is {}; [{},{},{}] or [{},{},1] is expected", shape, s.batch, s.steps, s.heads, s.batch, s.steps);
    block.beta_step = shape[2];
    block.beta = RealView<float>(context, beta);
  }

  int64_t q_heads_, kv_heads_, out_heads_;
  float scale_;
  bool gated_, delta_;
};

}  // namespace

void RegisterLinearAttention(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {
    registry.Add(Op("LinearAttention", domain).Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16}).Make<LinearAttention>());
  }
}

}  // namespace tessera::cpu
