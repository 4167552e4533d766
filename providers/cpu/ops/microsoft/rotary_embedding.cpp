// RotaryEmbedding, com.microsoft, version 1.

#include "cpu/ops/attention/real_tensor.h"
#include "cpu/ops/ops.h"
#include "kernels/attention/rotary.h"

namespace tessera::cpu {
namespace {

class RotaryEmbedding final : public Kernel {
 public:
  explicit RotaryEmbedding(const KernelInfo& info)
      : interleaved_(info.attribute<int64_t>("interleaved", 0) != 0),
        rotary_dim_(info.attribute<int64_t>("rotary_embedding_dim", 0)),
        heads_(info.attribute<int64_t>("num_heads", 0)),
        scale_(info.attribute<float>("scale", 1.0f)) {
    Require(rotary_dim_ >= 0 && heads_ >= 0, "rotary_embedding_dim is {} and num_heads {}", rotary_dim_, heads_);
    Require(rotary_dim_ == 0 || heads_ > 0, "rotary_embedding_dim needs num_heads");
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& positions = context.required_input(1);
    const Shape& cosine = context.required_input(2).shape();
    const Shape& sine = context.required_input(3).shape();
    const Shape& shape = x.shape();
    const bool packed = shape.rank() == 3;
    Require(packed || shape.rank() == 4, "the input is {}; 3 or 4 dimensions are expected", shape);
    Require(cosine.rank() == 2 && cosine == sine, "cos_cache is {} and sin_cache {}", cosine, sine);
    const int64_t batch = shape[0], steps = shape[packed ? 1 : 2], half = cosine[1], rotary_dim = 2 * half;
    const int64_t hidden = packed ? shape[2] : shape[1] * shape[3];
    const int64_t width = !packed ? shape[3] : rotary_dim_ > 0 ? (hidden % heads_ == 0 ? hidden / heads_ : 0) : rotary_dim;
    Require(width > 0 && hidden % width == 0 && rotary_dim <= width && (rotary_dim_ == 0 || rotary_dim_ == rotary_dim),
            "caches {} rotate {} elements of an input {}", cosine, rotary_dim, shape);
    const int64_t heads = hidden / width;
    Tensor* y = context.output(0, shape);
    if (y == nullptr || x.num_elements() == 0) return;
    CheckPositions(positions, batch, steps, cosine[0]);
    const float* from = RealView<float>(context, x);
    const float* cosines = RealView<float>(context, context.required_input(2));
    const float* sines = RealView<float>(context, context.required_input(3));
    const int64_t* position = positions.data<int64_t>();
    const bool one = positions.num_elements() == 1 && positions.shape().rank() != 2;
    RealResult<float> result(context, *y);
    float* to = result.data();
    const auto rotate = interleaved_ ? RotatePairs : RotateHalves;
    context.threads().ParallelFor(
        batch * steps * heads, static_cast<double>(width) * 0.4 + 5, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t token = packed ? i / heads : i / (heads * steps) * steps + i % steps;
            const int64_t row = (one ? position[0] + token % steps : position[token]) * half;
            rotate(from + i * width, cosines + row, sines + row, half, to + i * width);
            std::copy_n(from + i * width + rotary_dim, width - rotary_dim, to + i * width + rotary_dim);
          }
        });
    if (scale_ != 1.0f) {
      for (int64_t i = 0; i < x.num_elements(); ++i) to[i] *= scale_;
    }
    result.Finish();
  }

 private:
  static void CheckPositions(const Tensor& positions, int64_t batch, int64_t steps, int64_t limit) {
    const Shape& s = positions.shape();
    if (s.rank() != 2) {
      Require(positions.num_elements() == 1, "position_ids is {}; [1] or [{},{}] is expected", s, batch, steps);
      const int64_t first = *positions.data<int64_t>();
      Require(first >= 0 && first <= limit - steps, "positions {} to {} are outside the caches' {} rows", first,
              first + (steps - 1), limit);
      return;
    }
    Require(s[0] == batch && s[1] == steps, "position_ids is {}; [{},{}] is expected", s, batch, steps);
    for (const int64_t position : positions.values<int64_t>()) {
      Require(position >= 0 && position < limit, "position {} is outside the caches' {} rows", position, limit);
    }
  }

  bool interleaved_;
  int64_t rotary_dim_;
  int64_t heads_;
  float scale_;
};

}  // namespace

void RegisterMicrosoftRotaryEmbedding(KernelRegistry& registry) {
  registry.Add(Op("RotaryEmbedding", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Make<RotaryEmbedding>());
}

}  // namespace tessera::cpu
