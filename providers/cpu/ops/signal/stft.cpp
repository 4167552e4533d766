// STFT (ai.onnx 17).

#include <cmath>

#include "base/checked.h"
#include "cpu/ops/ops.h"
#include "cpu/ops/signal/transform.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T>
class Stft final : public Kernel {
  using F = SignalNumber<T>;

 public:
  explicit Stft(const KernelInfo& info) : onesided_(info.attribute<int64_t>("onesided", 1) != 0) {}

  void Compute(KernelContext& context) override {
    const Tensor& signal = context.required_input(0);
    const Tensor* window = context.input(2);
    const Shape& shape = signal.shape();
    Require(shape.rank() == 2 || (shape.rank() == 3 && (shape[2] == 1 || shape[2] == 2)),
            "signal is {}, [batches, points, 1 or 2] is expected", shape);
    const int64_t components = shape.rank() == 2 ? 1 : shape[2], points = shape[1];
    const int64_t step = ReadLength(context, 1, 0);
    Require(step >= 1, "frame_step is {}", step);
    if (window != nullptr) {
      Require(window->shape().rank() == 1 && window->is(signal.type()), "window is {} of {}, a vector of {} is expected",
              window->shape(), ElementTypeName(window->type()), ElementTypeName(signal.type()));
    }
    const int64_t length = ReadLength(context, 3, window != nullptr ? window->num_elements() : points);
    Require(length >= 1 && length < (int64_t{1} << 31), "frame_length is {}", length);
    Require(window == nullptr || window->num_elements() == length, "window has {} points and frame_length is {}",
            window == nullptr ? 0 : window->num_elements(), length);

    const int64_t frames = points < length ? 0 : (points - length) / step + 1;
    const int64_t bins = onesided_ ? length / 2 + 1 : length;
    Tensor* output = context.output(0, Shape{shape[0], frames, bins, 2});
    if (output == nullptr || output->num_elements() == 0) return;

    const auto spectrum = cache_.Get(context, length);
    const T* source = signal.data<T>();
    const T* weights = window == nullptr ? nullptr : window->data<T>();
    T* target = output->template mutable_data<T>();
    const int64_t size = CheckedAdd(CheckedMul(length + 2, int64_t{2}), spectrum->scratch());
    ForEachSignal<F>(context, shape[0] * frames, size, TransformCost(length), [&](int64_t i, F* memory) {
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
  bool onesided_;
  SpectrumCache<F> cache_;
};

}  // namespace

void RegisterStft(KernelRegistry& registry) {
  registry.Add(Op("STFT").Versions(17).Types(0, kFloats).Factory(MakeTyped<Stft, FloatTypes>));
}

}  // namespace tessera::cpu
