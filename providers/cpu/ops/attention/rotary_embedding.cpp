// RotaryEmbedding (23), and version 1 of com.microsoft.

#include <algorithm>

#include "cpu/ops/attention/real_tensor.h"
#include "cpu/ops/ops.h"
#include "kernels/attention/rotary.h"
#include "ops/attention/rotary_embedding.h"

namespace tessera::cpu {
namespace {

class RotaryEmbedding final : public Kernel {
 public:
  explicit RotaryEmbedding(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor &x = context.required_input(0), &cosine = context.required_input(attributes_.cosine_input()),
                 &sine = context.required_input(attributes_.sine_input());
    const Tensor* positions = context.input(attributes_.positions_input());
    const RotarySizes s = attributes_.Infer(x.shape(), cosine.shape(), sine.shape(), positions);
    Tensor* y = context.output(0, x.shape());
    if (y == nullptr || x.num_elements() == 0) return;
    const float* from = RealView<float>(context, x);
    const float* cosines = RealView<float>(context, cosine);
    const float* sines = RealView<float>(context, sine);
    const int64_t* position = positions == nullptr ? nullptr : positions->data<int64_t>();
    RealResult<float> result(context, *y);
    float* to = result.data();
    const auto rotate = attributes_.interleaved ? RotatePairs : RotateHalves;
    const int64_t total = s.batch * s.steps * s.heads, rotated = 2 * s.half;
    context.threads().ParallelFor(total, static_cast<double>(s.width) * 0.4 + 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        // i counts vectors in memory order; token: which step of which batch.
        const int64_t token = s.packed ? i / s.heads : i / (s.heads * s.steps) * s.steps + i % s.steps;
        const int64_t row = position == nullptr ? token : s.one ? position[0] + token % s.steps : position[token];
        rotate(from + i * s.width, cosines + row * s.half, sines + row * s.half, s.half, to + i * s.width);
        std::copy_n(from + i * s.width + rotated, s.width - rotated, to + i * s.width + rotated);
      }
    });
    if (attributes_.scale != 1.0f) {
      for (int64_t i = 0; i < x.num_elements(); ++i) to[i] *= attributes_.scale;
    }
    result.Finish();
  }

 private:
  RotaryEmbeddingAttributes attributes_;
};

}  // namespace

void RegisterRotaryEmbedding(KernelRegistry& registry) {
  for (const std::string_view domain : {"", "com.microsoft"}) {
    registry.Add(Op("RotaryEmbedding", domain)
                     .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                     .Make<RotaryEmbedding>());
  }
}

}  // namespace tessera::cpu
