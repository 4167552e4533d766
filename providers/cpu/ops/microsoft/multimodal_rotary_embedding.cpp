// MRotaryEmbedding, com.microsoft, version 1: each token has a position in time, one in height and one in width, and each
// pair of elements turns by the angle of one of the three.

#include <array>

#include "base/checked.h"
#include "cpu/ops/attention/real_tensor.h"
#include "cpu/ops/ops.h"
#include "kernels/attention/rotary.h"

namespace tessera::cpu {
namespace {

class MultimodalRotaryEmbedding final : public Kernel {
 public:
  explicit MultimodalRotaryEmbedding(const KernelInfo& info)
      : interleaved_(info.attribute<int64_t>("interleaved", 0) != 0),
        rotary_dim_(info.attribute<int64_t>("rotary_embedding_dim", 0)),
        heads_(info.attribute<int64_t>("num_heads", 0)),
        scale_(info.attribute<float>("scale", 1.0f)) {
    Require(rotary_dim_ >= 0 && rotary_dim_ % 2 == 0 && heads_ >= 0, "rotary_embedding_dim is {} and num_heads {}",
            rotary_dim_, heads_);
    Require(rotary_dim_ == 0 || heads_ > 0, "rotary_embedding_dim needs num_heads");
    const auto sections = info.attribute<std::vector<int64_t>>("mrope_section");
    Require(sections.size() == 3, "mrope_section has {} elements; 3 are expected", sections.size());
    int64_t half = 0;
    for (const int64_t section : sections) {
      Require(section >= 0 && section <= kMostPairs - half, "mrope_section holds {}", section);
      half += section;
    }
    const int64_t layout = info.attribute<int64_t>("mrope_layout", 0);
    Require(layout == 0 || layout == 1, "mrope_layout is {}; 0 and 1 are known", layout);
    stream_of_.assign(static_cast<size_t>(half), 0);
    for (size_t stream = 1; stream < 3; ++stream) {
      const auto mark = static_cast<uint8_t>(stream);
      if (layout == 0) {
        const int64_t first = sections[0] + (stream == 2 ? sections[1] : 0);
        std::fill_n(stream_of_.begin() + first, sections[stream], mark);
      } else {
        const auto end = static_cast<size_t>(std::min(half, 3 * sections[stream]));
        for (size_t i = stream; i < end; i += 3) stream_of_[i] = mark;
      }
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& cosine = context.required_input(2).shape();
    const Shape& sine = context.required_input(3).shape();
    const Shape& shape = x.shape();
    const bool packed = shape.rank() == 3;
    Require(packed || shape.rank() == 4, "the input is {}; 3 or 4 dimensions are expected", shape);
    const auto half = std::ssize(stream_of_);
    Require(cosine.rank() == 2 && cosine == sine && cosine[1] == half && (rotary_dim_ == 0 || rotary_dim_ == 2 * half),
            "cos_cache is {} and sin_cache {}; mrope_section sums up to {} and rotary_embedding_dim is {}", cosine, sine,
            half, rotary_dim_);
    const int64_t batch = shape[0], steps = shape[packed ? 1 : 2],
                  hidden = packed ? shape[2] : CheckedMul(shape[1], shape[3]);
    const int64_t width = !packed ? shape[3] : rotary_dim_ > 0 ? (hidden % heads_ == 0 ? hidden / heads_ : 0) : 2 * half;
    Require(width > 0 && hidden % width == 0 && 2 * half <= width, "caches {} rotate {} elements of an input {}", cosine,
            2 * half, shape);
    Tensor* y = context.output(0, shape);
    if (y == nullptr || x.num_elements() == 0) return;
    const auto [cosines, sines] = Angles(context, batch * steps, Shape{3, batch, steps});
    const float* from = RealView<float>(context, x);
    RealResult<float> result(context, *y);
    float* to = result.data();
    const auto rotate = interleaved_ ? RotatePairs : RotateHalves;
    const int64_t heads = hidden / width;
    context.threads().ParallelFor(
        batch * steps * heads, static_cast<double>(width) * 0.4 + 5, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t row = (packed ? i / heads : i / (heads * steps) * steps + i % steps) * half;
            rotate(from + i * width, cosines + row, sines + row, half, to + i * width);
            std::copy_n(from + i * width + 2 * half, width - 2 * half, to + i * width + 2 * half);
            if (scale_ == 1.0f) continue;
            for (int64_t k = i * width; k < (i + 1) * width; ++k) to[k] *= scale_;
          }
        });
    result.Finish();
  }

 private:
  static constexpr int64_t kMostPairs = 1 << 20;

  /// A row of cosines and one of sines for each token.
  std::array<const float*, 2> Angles(KernelContext& context, int64_t tokens, const Shape& expected) const {
    const Tensor& positions = context.required_input(1);
    Require(positions.shape() == expected, "position_ids is {}; {} is expected", positions.shape(), expected);
    const int64_t limit = context.required_input(2).shape()[0];
    for (const int64_t position : positions.values<int64_t>()) {
      Require(position >= 0 && position < limit, "position {} is outside the caches' {} rows", position, limit);
    }
    const auto half = std::ssize(stream_of_);
    std::array<const float*, 2> result;
    for (size_t table = 0; table < 2; ++table) {
      const float* cache = RealView<float>(context, context.required_input(2 + table));
      const auto rows = context.scratch<float>(static_cast<size_t>(CheckedMul(tokens, half)));
      for (int64_t token = 0; token < tokens; ++token) {
        for (int64_t i = 0; i < half; ++i) {
          const int64_t position = positions.data<int64_t>()[stream_of_[static_cast<size_t>(i)] * tokens + token];
          rows[static_cast<size_t>(token * half + i)] = cache[position * half + i];
        }
      }
      result[table] = rows.data();
    }
    return result;
  }

  bool interleaved_;
  int64_t rotary_dim_;
  int64_t heads_;
  float scale_;
  std::vector<uint8_t> stream_of_;  // by pair: time, height or width
};

}  // namespace

void RegisterMultimodalRotaryEmbedding(KernelRegistry& registry) {
  registry.Add(Op("MRotaryEmbedding", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Make<MultimodalRotaryEmbedding>());
}

}  // namespace tessera::cpu
