// RotaryEmbedding (23).

#include <algorithm>

#include "cpu/ops/attention/real_tensor.h"
#include "cpu/ops/ops.h"
#include "kernels/attention/rotary.h"

namespace tessera::cpu {
namespace {

/// X as [batch, heads, steps, width] or [batch, steps, heads * width].
struct RotarySizes {
  int64_t batch, heads, steps, width;
  bool packed;
};

class RotaryEmbedding final : public Kernel {
 public:
  explicit RotaryEmbedding(const KernelInfo& info)
      : interleaved_(info.attribute<int64_t>("interleaved", 0) != 0),
        rotary_dim_(info.attribute<int64_t>("rotary_embedding_dim", 0)),
        heads_(info.attribute<int64_t>("num_heads", 0)) {
    Require(rotary_dim_ >= 0 && rotary_dim_ % 2 == 0, "rotary_embedding_dim is {}; an even number is expected",
            rotary_dim_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& cosine = context.required_input(1);
    const Tensor& sine = context.required_input(2);
    const Tensor* positions = context.input(3);
    const RotarySizes sizes = Sizes(x.shape());
    const int64_t rotary_dim = rotary_dim_ == 0 ? sizes.width : rotary_dim_;
    Require(rotary_dim % 2 == 0 && rotary_dim <= sizes.width, "{} of {} elements of each head are to be rotated",
            rotary_dim, sizes.width);
    const int64_t half = rotary_dim / 2;
    const int64_t rows = CheckCaches(cosine.shape(), sine.shape(), positions, sizes, half);
    Tensor* y = context.output(0, x.shape());
    if (y == nullptr || x.num_elements() == 0) return;
    const float* from = RealView<float>(context, x);
    const float* cosines = RealView<float>(context, cosine);
    const float* sines = RealView<float>(context, sine);
    const int64_t* position = positions == nullptr ? nullptr : positions->data<int64_t>();
    for (int64_t i = 0; position != nullptr && i < sizes.batch * sizes.steps; ++i) {
      Require(position[i] >= 0 && position[i] < rows, "position {} is outside the caches' {} rows", position[i], rows);
    }
    RealResult<float> result(context, *y);
    float* to = result.data();
    const auto rotate = interleaved_ ? RotatePairs : RotateHalves;
    const int64_t total = sizes.batch * sizes.steps * sizes.heads;
    context.threads().ParallelFor(total, static_cast<double>(sizes.width) * 0.4 + 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        // i counts vectors in memory order; token: which step of which batch.
        const int64_t token =
            sizes.packed ? i / sizes.heads : i / (sizes.heads * sizes.steps) * sizes.steps + i % sizes.steps;
        const int64_t row = (position == nullptr ? token : position[token]) * half;
        rotate(from + i * sizes.width, cosines + row, sines + row, half, to + i * sizes.width);
        std::copy_n(from + i * sizes.width + rotary_dim, sizes.width - rotary_dim, to + i * sizes.width + rotary_dim);
      }
    });
    result.Finish();
  }

 private:
  RotarySizes Sizes(const Shape& x) const {
    if (x.rank() == 4) return {x[0], x[1], x[2], x[3], false};
    Require(x.rank() == 3, "X is {}; 3 or 4 dimensions are expected", x);
    Require(heads_ > 0 && x[2] % heads_ == 0, "X is {}, which does not divide into {} heads", x, heads_);
    return {x[0], heads_, x[1], x[2] / heads_, true};
  }

  /// Rows of the caches.
  static int64_t CheckCaches(const Shape& cosine, const Shape& sine, const Tensor* positions, const RotarySizes& sizes,
                             int64_t half) {
    Require(cosine == sine, "cos_cache is {} and sin_cache {}", cosine, sine);
    if (positions != nullptr) {
      Require(cosine.rank() == 2 && cosine[1] == half, "the caches are {}; [positions,{}] is expected", cosine, half);
      Require(positions->shape() == Shape({sizes.batch, sizes.steps}), "position_ids is {}, [{},{}] is expected",
              positions->shape(), sizes.batch, sizes.steps);
      return cosine[0];
    }
    Require(cosine == Shape({sizes.batch, sizes.steps, half}),
            "the caches are {}; [{},{},{}] is expected without position_ids", cosine, sizes.batch, sizes.steps, half);
    return sizes.batch * sizes.steps;
  }

  bool interleaved_;
  int64_t rotary_dim_;
  int64_t heads_;
};

}  // namespace

void RegisterRotaryEmbedding(KernelRegistry& registry) {
  registry.Add(Op("RotaryEmbedding")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Make<RotaryEmbedding>());
}

}  // namespace tessera::cpu
