// STFT (ai.onnx 17).

#include <cmath>
#include <optional>

#include "base/checked.h"
#include "cpu/ops/ops.h"
#include "cpu/ops/signal/transform.h"
#include "cpu/types.h"
#include "ops/signal/dft.h"

namespace tessera::cpu {
namespace {

template <class T>
class Stft final : public Kernel {
  using F = SignalNumber<T>;

 public:
  explicit Stft(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& signal = context.required_input(0);
    const Tensor* window = context.input(2);
    const int64_t step = ReadLength(context, 1, 0);
    std::optional<int64_t> frame_length;
    if (context.input(3) != nullptr) frame_length = ReadLength(context, 3, 0);
    const StftAttributes::Sizes sizes = attributes_.Fit(signal, step, window, frame_length);
    const int64_t points = sizes.points, components = sizes.components, length = sizes.length, frames = sizes.frames,
                  bins = sizes.bins;
    Tensor* output = context.output(0, sizes.result());
    if (output == nullptr || output->num_elements() == 0) return;

    const auto spectrum = cache_.Get(context, length);
    const T* source = signal.data<T>();
    const T* weights = window == nullptr ? nullptr : window->data<T>();
    T* target = output->template mutable_data<T>();
    const int64_t size = CheckedAdd(CheckedMul(length + 2, int64_t{2}), spectrum->scratch());
    ForEachSignal<F>(context, sizes.batches * frames, size, TransformCost(length), [&](int64_t i, F* memory) {
      F *re = memory, *im = memory + length + 2, *scratch = im + length + 2;
      const T* frame = source + (i / frames * points + i % frames * step) * components;
      for (int64_t k = 0; k < length; ++k) {
        const F weight = weights == nullptr ? F{1} : static_cast<F>(weights[k]);
        re[k] = static_cast<F>(frame[k * components]) * weight;
        if (components == 2) im[k] = static_cast<F>(frame[k * 2 + 1]) * weight;
      }
      if (components == 2) {
        spectrum->Complex(re, im, scratch);
      } else {
        spectrum->Real(re, im, scratch);
      }
      T* out = target + i * bins * 2;
      const int64_t direct = components == 2 ? bins : std::min(bins, length / 2 + 1);
      for (int64_t k = 0; k < direct; ++k) {
        out[2 * k] = static_cast<T>(re[k]);
        out[2 * k + 1] = static_cast<T>(im[k]);
      }
      for (int64_t k = direct; k < bins; ++k) {
        out[2 * k] = static_cast<T>(re[length - k]);
        out[2 * k + 1] = static_cast<T>(-im[length - k]);
      }
    });
  }

 private:
  StftAttributes attributes_;
  SpectrumCache<F> cache_;
};

}  // namespace

void RegisterStft(KernelRegistry& registry) {
  registry.Add(Op("STFT").Versions(17).Types(0, kFloats).Factory(MakeTyped<Stft, FloatTypes>));
}

}  // namespace tessera::cpu
