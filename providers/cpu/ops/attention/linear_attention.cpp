// LinearAttention (27), and version 1 of com.microsoft, from which it came.

#include "kernels/attention/linear_attention.h"

#include <cmath>
#include <optional>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/attention/real_tensor.h"
#include "cpu/ops/ops.h"
#include "ops/attention/linear_attention.h"

namespace tessera::cpu {
namespace {

class LinearAttention final : public Kernel {
 public:
  explicit LinearAttention(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& query = context.required_input(0);
    const Tensor& value = context.required_input(2);
    const Tensor* past = context.input(3);
    const LinearAttentionSizes s = attributes_.Infer(query.shape(), context.required_input(1).shape(), value.shape(), past);
    Tensor* y = context.output(0, Shape{s.batch, s.steps, CheckedMul(attributes_.out_heads, s.value_width)});
    Tensor* present = context.output(1, Shape{s.batch, s.heads, s.width, s.value_width});

    LinearAttentionBlock all{};
    all.steps = s.steps;
    all.width = s.width;
    all.group = attributes_.out_heads / attributes_.kv_heads;
    all.scale = attributes_.Scale(s);
    all.q = RealView<float>(context, query);
    all.k = RealView<float>(context, context.required_input(1));
    all.v = RealView<float>(context, value);
    all.q_step = attributes_.q_heads * s.width;
    all.k_step = s.heads * s.width;
    all.v_step = s.heads * s.value_width;
    all.out_step = attributes_.out_heads * s.value_width;
    all.out_head = s.value_width;
    if (attributes_.gated) SetDecay(context, context.required_input(4), s, all);
    if (attributes_.delta) SetBeta(context, context.required_input(5), s, all);
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
  void Run(KernelContext& context, const LinearAttentionSizes& s, const LinearAttentionBlock& all, const float* before,
           float* after) const {
    constexpr int64_t kColumns = kLinearAttentionColumns;
    const int64_t blocks = CeilDiv(s.value_width, kColumns);
    const int64_t tasks = CheckedMul(CheckedMul(s.batch, s.heads), blocks);
    const int64_t parts = std::clamp<int64_t>(tasks, 1, 4 * context.threads().num_threads());
    const int64_t state_size = s.width * kColumns;
    float* states = context.scratch<float>(static_cast<size_t>(CheckedMul(parts, state_size))).data();
    const double cost =
        static_cast<double>(s.steps + 2) * static_cast<double>(state_size) * 0.1 * static_cast<double>(all.group + 2);
    context.threads().ParallelFor(
        parts, cost * static_cast<double>(tasks) / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
          for (int64_t part = begin; part < end; ++part) {
            for (int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) {
              CancellationPoint();
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
              block.q += b * s.steps * all.q_step + head * attributes_.q_heads / attributes_.kv_heads * s.width;
              block.k += b * s.steps * all.k_step + head * s.width;
              block.v += b * s.steps * all.v_step + head * s.value_width + column;
              block.out += b * s.steps * all.out_step + head * all.group * s.value_width + column;
              if (block.decay != nullptr)
                block.decay += b * s.steps * all.decay_step + head * (all.decay_row != 0 ? s.width : 1);
              if (block.beta != nullptr) block.beta += b * s.steps * all.beta_step + (all.beta_step == 1 ? 0 : head);
              RunLinearAttention(block);
              for (int64_t row = 0; after != nullptr && row < s.width; ++row) {
                std::copy_n(block.state + row * kColumns, block.columns, after + (rows + row) * s.value_width + column);
              }
            }
          }
        });
  }

  static void SetDecay(KernelContext& context, const Tensor& decay, const LinearAttentionSizes& s,
                       LinearAttentionBlock& block) {
    const Shape& shape = decay.shape();
    CheckDecay(shape, s);
    block.decay_row = shape[2] == s.heads ? 0 : 1;
    block.decay_step = shape[2];
    const int64_t count = decay.num_elements();
    const float* logs = RealView<float>(context, decay);
    float* decays = context.scratch<float>(static_cast<size_t>(count)).data();
    context.threads().ParallelFor(count, 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) decays[i] = std::exp(logs[i]);
    });
    block.decay = decays;
  }

  static void SetBeta(KernelContext& context, const Tensor& beta, const LinearAttentionSizes& s,
                      LinearAttentionBlock& block) {
    const Shape& shape = beta.shape();
    CheckBeta(shape, s);
    block.beta_step = shape[2];
    block.beta = RealView<float>(context, beta);
  }

  LinearAttentionAttributes attributes_;
};

}  // namespace

void RegisterLinearAttention(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {
    registry.Add(Op("LinearAttention", domain)
                     .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                     .Make<LinearAttention>());
  }
}

}  // namespace tessera::cpu
