// RotaryEmbedding of ai.onnx (23) and of com.microsoft (1).

#include "opencl/ops/slices.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in rotary_embedding.cl.
struct RotarySizes {
  cl_long heads, steps, width, half_width;
  cl_int packed, interleaved, one;
  cl_float scale;
};

class RotaryEmbedding final : public Kernel {
 public:
  explicit RotaryEmbedding(const KernelInfo& info)
      : microsoft_(!info.node().domain.empty()),
        kernel_(DeviceOf(info), "rotary_embedding",
                Computed('X', info.input_type(0)) + Computed('C', info.input_type(microsoft_ ? 2 : 1)), "rotate_heads"),
        positions_(info, microsoft_ ? 1 : 3),
        interleaved_(info.attribute<int64_t>("interleaved", 0) != 0),
        rotary_dim_(info.attribute<int64_t>("rotary_embedding_dim", 0)),
        heads_(info.attribute<int64_t>("num_heads", 0)),
        scale_(microsoft_ ? info.attribute<float>("scale", 1.0f) : 1.0f) {
    Require(rotary_dim_ >= 0 && rotary_dim_ % 2 == 0 && heads_ >= 0, "rotary_embedding_dim is {} and num_heads {}",
            rotary_dim_, heads_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& cosine = context.required_input(microsoft_ ? 2 : 1);
    const Tensor& sine = context.required_input(microsoft_ ? 3 : 2);
    const Tensor* positions = context.input(microsoft_ ? 1 : 3);
    const Shape& shape = x.shape();
    const bool packed = shape.rank() == 3;
    Require(packed || shape.rank() == 4, "the input is {}; 3 or 4 dimensions are expected", shape);
    Require(cosine.shape() == sine.shape() && cosine.shape().rank() >= 2, "the caches are {} and {}", cosine.shape(),
            sine.shape());
    const int64_t batch = shape[0], steps = shape[packed ? 1 : 2], hidden = packed ? shape[2] : shape[1] * shape[3];
    const int64_t half = cosine.shape().back(), width = Width(shape, packed, hidden, half);
    Require(width > 0 && hidden % width == 0 && 2 * half <= width &&
                (rotary_dim_ == 0 ? microsoft_ || 2 * half == width : 2 * half == rotary_dim_),
            "caches {} rotate {} elements of an input {}", cosine.shape(), rotary_dim_, shape);
    const Tensor& y = *context.output(0, shape);
    if (x.num_elements() == 0) return;
    const Buffer sent = Checked(context, positions, cosine.shape(), batch, steps, half);
    const RotarySizes s{.heads = hidden / width,
                        .steps = steps,
                        .width = width,
                        .half_width = half,
                        .packed = packed,
                        .interleaved = interleaved_,
                        .one = positions != nullptr && positions->num_elements() == 1 && positions->shape().rank() != 2,
                        .scale = scale_};
    kernel_.Linear(context, x.num_elements(), x, cosine, sine, BufferRange{sent.get(), 0}, y, s);
  }

 private:
  int64_t Width(const Shape& shape, bool packed, int64_t hidden, int64_t half) const {
    if (!packed) return shape[3];
    if (microsoft_ && rotary_dim_ == 0) return 2 * half;
    return heads_ > 0 && hidden % heads_ == 0 ? hidden / heads_ : 0;
  }

  /// No buffer where the caches follow the tokens.
  Buffer Checked(KernelContext& context, const Tensor* positions, const Shape& caches, int64_t batch, int64_t steps,
                 int64_t half) {
    if (positions == nullptr) {
      Require(!microsoft_ && caches == Shape({batch, steps, half}),
              "the caches are {}; [{},{},{}] is expected without position_ids", caches, batch, steps, half);
      return {};
    }
    Require(caches.rank() == 2 && positions->is(ElementType::kInt64), "the caches are {}", caches);
    const bool one = microsoft_ && positions->num_elements() == 1 && positions->shape().rank() != 2;
    Require(one || positions->shape() == Shape({batch, steps}), "position_ids is {}, [{},{}] is expected",
            positions->shape(), batch, steps);
    const int64_t last = one ? steps - 1 : 0;
    for (int64_t position : positions->values<int64_t>()) {
      Require(position >= 0 && position < caches[0] - last, "position {} is outside the caches' {} rows", position,
              caches[0]);
    }
    return positions_.Send(context, Shape{caches[0], steps}, positions->num_elements(),
                           [&](std::span<int64_t> to) { std::ranges::copy(positions->values<int64_t>(), to.begin()); });
  }

  bool microsoft_;
  Launchable kernel_;
  SentIntegers positions_;
  bool interleaved_;
  int64_t rotary_dim_, heads_;
  float scale_;
};

}  // namespace

void RegisterRotary(KernelRegistry& registry) {
  constexpr TypeSet kRotated = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};
  registry.Add(Op("RotaryEmbedding").Versions(23).Types(0, kRotated).HostInput(3).Make<RotaryEmbedding>());
  registry.Add(Op("RotaryEmbedding", "com.microsoft").Types(0, kRotated).HostInput(1).Make<RotaryEmbedding>());
}

}  // namespace tessera::opencl
