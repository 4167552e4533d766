// RotaryEmbedding of ai.onnx (23) and of com.microsoft (1).

#include "ops/attention/rotary_embedding.h"
#include "opencl/ops/slices.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in rotary_embedding.cl.
struct RotaryArguments {
  cl_long heads, steps, width, half_width;
  cl_int packed, interleaved, one;
  cl_float scale;
};

class RotaryEmbedding final : public Kernel {
 public:
  explicit RotaryEmbedding(const KernelInfo& info)
      : attributes_(info.node()),
        kernel_(DeviceOf(info), "rotary_embedding",
                Computed('X', info.input_type(0)) + Computed('C', info.input_type(attributes_.cosine_input())),
                "rotate_heads"),
        positions_(info, attributes_.positions_input()) {}

  void Compute(KernelContext& context) override {
    const Tensor &x = context.required_input(0), &cosine = context.required_input(attributes_.cosine_input()),
                 &sine = context.required_input(attributes_.sine_input());
    const Tensor* positions = context.input(attributes_.positions_input());
    const RotarySizes s = attributes_.Infer(x.shape(), cosine.shape(), sine.shape(), positions);
    const Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    const SentData sent = SendPositions(context, positions, s);
    const RotaryArguments arguments{.heads = s.heads,
                                    .steps = s.steps,
                                    .width = s.width,
                                    .half_width = s.half,
                                    .packed = s.packed,
                                    .interleaved = attributes_.interleaved,
                                    .one = s.one,
                                    .scale = attributes_.scale};
    kernel_.Linear(context, x.num_elements(), x, cosine, sine, sent.range(), y, arguments);
  }

 private:
  /// Nothing where the caches follow the tokens.
  SentData SendPositions(KernelContext& context, const Tensor* positions, const RotarySizes& s) {
    if (positions == nullptr) return {};
    return positions_.Send(context, Shape{s.positions, s.steps}, positions->num_elements(),
                           [&](std::span<int64_t> to) { std::ranges::copy(positions->values<int64_t>(), to.begin()); });
  }

  RotaryEmbeddingAttributes attributes_;
  Launchable kernel_;
  SentIntegers positions_;
};

}  // namespace

void RegisterRotaryEmbedding(KernelRegistry& registry) {
  constexpr TypeSet kRotated = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};
  registry.Add(Op("RotaryEmbedding").Versions(23).Types(0, kRotated).HostInput(3).Make<RotaryEmbedding>());
  registry.Add(Op("RotaryEmbedding", "com.microsoft").Types(0, kRotated).HostInput(1).Make<RotaryEmbedding>());
}

}  // namespace tessera::opencl
