// DFT (ai.onnx 17, 20).

#include <cmath>

#include "base/cancellation.h"
#include "base/checked.h"
#include "cpu/ops/ops.h"
#include "cpu/ops/signal/transform.h"
#include "cpu/types.h"
#include "ops/signal/dft.h"

namespace tessera::cpu {
namespace {

constexpr double kLoadNs = 1;  // or stores, of one number

/// Signals lie along the middle axis of [outer, points, inner, components].
struct Layout {
  int64_t points = 0;
  int64_t inner = 1;
  int64_t components = 1;
  int64_t At(int64_t signal) const { return (signal / inner * points * inner + signal % inner) * components; }
  int64_t step() const { return inner * components; }
};

template <class T>
class Dft final : public Kernel {
  using F = SignalNumber<T>;

 public:
  explicit Dft(const KernelInfo& info)
      : attributes_(info.node()), inverse_(attributes_.inverse), onesided_(attributes_.onesided) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& shape = input.shape();
    const int64_t axis = attributes_.axis_is_input ? ReadLength(context, 2, attributes_.axis) : attributes_.axis;
    const size_t a = DftAttributes::SignalAxis(shape, axis);
    const int64_t default_length = inverse_ && onesided_ ? CheckedMul(shape[a] - 1, int64_t{2}) : shape[a];
    const int64_t length = ReadLength(context, 1, default_length);
    Require(length >= 1 && length < (int64_t{1} << 31), "dft_length is {}", length);

    Layout in{.points = shape[a], .inner = shape.SizeOfRange(a + 1, shape.rank() - 1), .components = shape.back()};
    Layout out = in;
    out.points = onesided_ && !inverse_ ? length / 2 + 1 : length;
    out.components = onesided_ && inverse_ ? 1 : 2;
    Shape out_shape = shape;
    out_shape[a] = out.points;
    out_shape[shape.rank() - 1] = out.components;
    Tensor* output = context.output(0, out_shape);
    if (output == nullptr || output->num_elements() == 0) return;

    const auto spectrum = cache_.Get(context, length);
    const T* source = input.data<T>();
    T* target = output->template mutable_data<T>();
    const int64_t signals = shape.SizeOfRange(0, a) * in.inner;
    const int64_t size = CheckedAdd(CheckedMul(length + 2, int64_t{2}), spectrum->scratch());
    ForEachSignal<F>(context, signals, size, TransformCost(length), [&](int64_t i, F* memory) {
      F *re = memory, *im = memory + length + 2, *scratch = im + length + 2;
      Transform(*spectrum, in, source + in.At(i), re, im, scratch);
      Store(out, re, im, target + out.At(i));
    });
  }

 private:
  static void Load(const Layout& in, const T* source, int64_t length, F* re, F* im) {
    const int64_t points = std::min(length, in.points), step = in.step();
    InCancellablePieces(0, points, kLoadNs, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) re[k] = static_cast<F>(source[k * step]);
    });
    std::fill(re + points, re + length, F{0});
    if (im == nullptr) return;
    if (in.components == 2) {
      InCancellablePieces(0, points, kLoadNs, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) im[k] = static_cast<F>(source[k * step + 1]);
      });
      std::fill(im + points, im + length, F{0});
    } else {
      std::fill_n(im, length, F{0});
    }
  }

  void Transform(const Spectrum<F>& spectrum, const Layout& in, const T* source, F* re, F* im, F* scratch) const {
    const int64_t length = spectrum.length();
    if (!inverse_) {
      if (in.components == 2) {
        Load(in, source, length, re, im);
        return spectrum.Complex(re, im, scratch);
      }
      Load(in, source, length, re, nullptr);
      spectrum.Real(re, im, scratch);
      if (!onesided_) {
        for (int64_t k = length / 2 + 1; k < length; ++k) {
          re[k] = re[length - k];
          im[k] = -im[length - k];
        }
      }
      return;
    }
    Load(in, source, length, re, im);
    if (onesided_) {
      // Only the first half is given: the rest is its mirror image, and what has no partner is real.
      im[0] = 0;
      if (length % 2 == 0) im[length / 2] = 0;
      for (int64_t k = length / 2 + 1; k < length; ++k) {
        re[k] = re[length - k];
        im[k] = -im[length - k];
      }
    }
    spectrum.Complex(im, re, scratch);  // swapped: the inverse
    const F scale = F{1} / static_cast<F>(length);
    for (int64_t k = 0; k < length; ++k) re[k] *= scale;
    for (int64_t k = 0; k < length; ++k) im[k] *= scale;
  }

  static void Store(const Layout& out, const F* re, const F* im, T* target) {
    const int64_t step = out.step();
    if (out.components == 1) {
      return InCancellablePieces(0, out.points, kLoadNs, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) target[k * step] = static_cast<T>(re[k]);
      });
    }
    InCancellablePieces(0, out.points, kLoadNs, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        target[k * step] = static_cast<T>(re[k]);
        target[k * step + 1] = static_cast<T>(im[k]);
      }
    });
  }

  DftAttributes attributes_;
  bool inverse_, onesided_;
  SpectrumCache<F> cache_;
};

}  // namespace

void RegisterDft(KernelRegistry& registry) {
  registry.Add(Op("DFT").Versions(17).Types(0, kFloats).Factory(MakeTyped<Dft, FloatTypes>));
}

}  // namespace tessera::cpu
