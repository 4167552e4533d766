#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/signal/fft.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/cancellation.h"
#include "kernels/signal/fft.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {

template <class F>
struct Complex {
  F re, im;
};
template <class F>
HWY_INLINE Complex<F> operator+(Complex<F> a, Complex<F> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class F>
HWY_INLINE Complex<F> operator-(Complex<F> a, Complex<F> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class F>
HWY_INLINE Complex<F> operator*(Complex<F> a, Complex<F> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class F>
HWY_INLINE Complex<F> TimesMinusI(Complex<F> a) {
  return {a.im, -a.re};
}

template <class F>
HWY_INLINE void Butterfly(Complex<F> (&x)[2]) {
  const Complex<F> a = x[0];
  x[0] = a + x[1];
  x[1] = a - x[1];
}
template <class F>
HWY_INLINE void Butterfly(Complex<F> (&x)[3]) {
  constexpr F kSin = static_cast<F>(0.86602540378443864676);
  const Complex<F> sum = x[1] + x[2], difference = x[1] - x[2];
  const Complex<F> middle = {x[0].re - sum.re / 2, x[0].im - sum.im / 2};
  const Complex<F> turn = TimesMinusI(Complex<F>{difference.re * kSin, difference.im * kSin});
  x[0] = x[0] + sum;
  x[1] = middle + turn;
  x[2] = middle - turn;
}
template <class F>
HWY_INLINE void Butterfly(Complex<F> (&x)[4]) {
  const Complex<F> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = TimesMinusI(x[1] - x[3]);
  x[0] = a + c;
  x[1] = b + d;
  x[2] = a - c;
  x[3] = b - d;
}
template <class F>
HWY_INLINE void Butterfly(Complex<F> (&x)[5]) {
  constexpr F kCos1 = static_cast<F>(0.30901699437494742410), kCos2 = static_cast<F>(-0.80901699437494742410);
  constexpr F kSin1 = static_cast<F>(0.95105651629515357212), kSin2 = static_cast<F>(0.58778525229247312917);
  const Complex<F> s1 = x[1] + x[4], d1 = x[1] - x[4], s2 = x[2] + x[3], d2 = x[2] - x[3];
  const Complex<F> a = {x[0].re + kCos1 * s1.re + kCos2 * s2.re, x[0].im + kCos1 * s1.im + kCos2 * s2.im};
  const Complex<F> b = {x[0].re + kCos2 * s1.re + kCos1 * s2.re, x[0].im + kCos2 * s1.im + kCos1 * s2.im};
  const Complex<F> c = TimesMinusI(Complex<F>{kSin1 * d1.re + kSin2 * d2.re, kSin1 * d1.im + kSin2 * d2.im});
  const Complex<F> d = TimesMinusI(Complex<F>{kSin2 * d1.re - kSin1 * d2.re, kSin2 * d1.im - kSin1 * d2.im});
  x[0] = x[0] + s1 + s2;
  x[1] = a + c;
  x[2] = b + d;
  x[3] = b - d;
  x[4] = a - c;
}

constexpr double kElementNs = 1.0;  // of one element of a stage

/// Steps [begin, end) of a stage whose signals are interleaved.
template <class F, int kRadix>
void FirstPass(const FftStage<F>& stage, int64_t begin, int64_t end, const F* HWY_RESTRICT in_re,
               const F* HWY_RESTRICT in_im, F* HWY_RESTRICT out_re, F* HWY_RESTRICT out_im) {
  const int64_t m = stage.m;
  const F *HWY_RESTRICT cos = stage.cos.data(), *HWY_RESTRICT sin = stage.sin.data();
  for (int64_t p = begin; p < end; ++p) {
    Complex<F> x[kRadix];
    for (int k = 0; k < kRadix; ++k) x[k] = {in_re[p + m * k], in_im[p + m * k]};
    Butterfly(x);
    for (int k = 1; k < kRadix; ++k) x[k] = x[k] * Complex<F>{cos[(k - 1) * m + p], sin[(k - 1) * m + p]};
    for (int k = 0; k < kRadix; ++k) {
      out_re[kRadix * p + k] = x[k].re;
      out_im[kRadix * p + k] = x[k].im;
    }
  }
}

template <class F, int kRadix>
void Pass(const FftStage<F>& stage, const F* HWY_RESTRICT in_re, const F* HWY_RESTRICT in_im, F* HWY_RESTRICT out_re,
          F* HWY_RESTRICT out_im) {
  const int64_t m = stage.m, s = stage.stride;
  const F *HWY_RESTRICT cos = stage.cos.data(), *HWY_RESTRICT sin = stage.sin.data();
  if (s == 1) {
    return InCancellablePieces(0, m, kRadix * kElementNs, [&](int64_t begin, int64_t end) HWY_ATTR {
      FirstPass<F, kRadix>(stage, begin, end, in_re, in_im, out_re, out_im);
    });
  }
  PacedCancellationPoint look(kRadix * kElementNs);
  for (int64_t p = 0; p < m; ++p) {
    look.Pass(s);
    Complex<F> twiddles[kRadix];
    for (int k = 1; k < kRadix; ++k) twiddles[k] = {cos[(k - 1) * m + p], sin[(k - 1) * m + p]};
    const F *HWY_RESTRICT re = in_re + s * p, *HWY_RESTRICT im = in_im + s * p;
    F *HWY_RESTRICT to_re = out_re + s * kRadix * p, *HWY_RESTRICT to_im = out_im + s * kRadix * p;
    for (int64_t q = 0; q < s; ++q) {
      Complex<F> x[kRadix];
      for (int k = 0; k < kRadix; ++k) x[k] = {re[q + s * m * k], im[q + s * m * k]};
      Butterfly(x);
      to_re[q] = x[0].re;
      to_im[q] = x[0].im;
      for (int k = 1; k < kRadix; ++k) {
        const Complex<F> y = x[k] * twiddles[k];
        to_re[q + s * k] = y.re;
        to_im[q + s * k] = y.im;
      }
    }
  }
}

/// A radix without an own butterfly: the definition.
template <class F>
void AnyPass(const FftStage<F>& stage, const F* HWY_RESTRICT in_re, const F* HWY_RESTRICT in_im, F* HWY_RESTRICT out_re,
             F* HWY_RESTRICT out_im) {
  const int64_t m = stage.m, s = stage.stride, radix = stage.radix;
  PacedCancellationPoint look(kElementNs);
  for (int64_t p = 0; p < m; ++p) {
    for (int64_t k = 0; k < radix; ++k) {
      look.Pass(radix * s);
      Complex<F> twiddle = {1, 0};
      if (k > 0)
        twiddle = {stage.cos[static_cast<size_t>((k - 1) * m + p)], stage.sin[static_cast<size_t>((k - 1) * m + p)]};
      F *HWY_RESTRICT to_re = out_re + s * (radix * p + k), *HWY_RESTRICT to_im = out_im + s * (radix * p + k);
      for (int64_t q = 0; q < s; ++q) to_re[q] = to_im[q] = 0;
      for (int64_t j = 0; j < radix; ++j) {
        const Complex<F> root = Complex<F>{stage.root_cos[static_cast<size_t>(k * radix + j)],
                                           stage.root_sin[static_cast<size_t>(k * radix + j)]} *
                                twiddle;
        const F *HWY_RESTRICT re = in_re + s * (p + m * j), *HWY_RESTRICT im = in_im + s * (p + m * j);
        for (int64_t q = 0; q < s; ++q) {
          to_re[q] += re[q] * root.re - im[q] * root.im;
          to_im[q] += re[q] * root.im + im[q] * root.re;
        }
      }
    }
  }
}

template <class F>
void RunStage(const FftStage<F>& stage, const F* in_re, const F* in_im, F* out_re, F* out_im) {
  switch (stage.radix) {
    case 2: return Pass<F, 2>(stage, in_re, in_im, out_re, out_im);
    case 3: return Pass<F, 3>(stage, in_re, in_im, out_re, out_im);
    case 4: return Pass<F, 4>(stage, in_re, in_im, out_re, out_im);
    case 5: return Pass<F, 5>(stage, in_re, in_im, out_re, out_im);
    default: return AnyPass<F>(stage, in_re, in_im, out_re, out_im);
  }
}

void StageF32(const FftStage<float>& stage, const float* in_re, const float* in_im, float* out_re, float* out_im) {
  RunStage(stage, in_re, in_im, out_re, out_im);
}
void StageF64(const FftStage<double>& stage, const double* in_re, const double* in_im, double* out_re, double* out_im) {
  RunStage(stage, in_re, in_im, out_re, out_im);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(StageF32);
HWY_EXPORT(StageF64);

namespace {

constexpr int kLargestRadix = 31;

void RunStage(const FftStage<float>& stage, const float* in_re, const float* in_im, float* out_re, float* out_im) {
  HWY_DYNAMIC_DISPATCH(StageF32)(stage, in_re, in_im, out_re, out_im);
}
void RunStage(const FftStage<double>& stage, const double* in_re, const double* in_im, double* out_re, double* out_im) {
  HWY_DYNAMIC_DISPATCH(StageF64)(stage, in_re, in_im, out_re, out_im);
}

constexpr double kRootNs = 30, kElementNs = 1;

/// exp(-2 pi i k / n); k is reduced first so that large products lose nothing.
void Root(int64_t k, int64_t n, double* re, double* im) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  *re = std::cos(angle);
  *im = std::sin(angle);
}

/// The radices of `n`, or none when a prime factor is too large.
std::vector<int> Factors(int64_t n) {
  std::vector<int> factors;
  while (n % 4 == 0) {
    factors.push_back(4);
    n /= 4;
  }
  for (int radix = 2; radix <= kLargestRadix && n > 1; ++radix) {
    while (n % radix == 0) {
      factors.push_back(radix);
      n /= radix;
    }
  }
  return n == 1 ? factors : std::vector<int>{};
}

template <class F>
FftStage<F> MakeStage(int radix, int64_t n, int64_t stride) {
  FftStage<F> stage{.radix = radix, .m = n / radix, .stride = stride};
  const auto count = static_cast<size_t>(stage.m * (radix - 1));
  stage.cos.resize(count);
  stage.sin.resize(count);
  double re, im;
  PacedCancellationPoint look(kRootNs);
  for (int64_t k = 1; k < radix; ++k) {
    for (int64_t p = 0; p < stage.m; ++p) {
      look.Pass();
      Root(p * k, n, &re, &im);
      stage.cos[static_cast<size_t>((k - 1) * stage.m + p)] = static_cast<F>(re);
      stage.sin[static_cast<size_t>((k - 1) * stage.m + p)] = static_cast<F>(im);
    }
  }
  if (radix > 5) {
    for (int64_t i = 0; i < radix * radix; ++i) {
      Root(i / radix * (i % radix), radix, &re, &im);
      stage.root_cos.push_back(static_cast<F>(re));
      stage.root_sin.push_back(static_cast<F>(im));
    }
  }
  return stage;
}

}  // namespace

template <class F>
FftPlan<F>::FftPlan(int64_t length) : length_(length) {
  if (length <= 1) return;
  const std::vector<int> factors = Factors(length);
  if (!factors.empty()) {
    int64_t n = length, stride = 1;
    for (int radix : factors) {
      stages_.push_back(MakeStage<F>(radix, n, stride));
      n /= radix;
      stride *= radix;
    }
    return;
  }
  int64_t padded = 1;
  while (padded < 2 * length - 1) padded *= 2;
  convolution_ = std::make_unique<FftPlan>(padded);
  chirp_re_.resize(static_cast<size_t>(length));
  chirp_im_.resize(static_cast<size_t>(length));
  kernel_re_.assign(static_cast<size_t>(padded), 0);
  kernel_im_.assign(static_cast<size_t>(padded), 0);
  PacedCancellationPoint look(kRootNs);
  for (int64_t k = 0; k < length; ++k) {
    look.Pass();
    double re, im;
    Root(static_cast<int64_t>(static_cast<unsigned __int128>(k) * static_cast<uint64_t>(k) %
                              static_cast<uint64_t>(2 * length)),
         2 * length, &re, &im);
    chirp_re_[static_cast<size_t>(k)] = static_cast<F>(re);
    chirp_im_[static_cast<size_t>(k)] = static_cast<F>(im);
    const F scale = static_cast<F>(1.0 / static_cast<double>(padded));
    for (int64_t i : {k, (padded - k) % padded}) {
      kernel_re_[static_cast<size_t>(i)] = static_cast<F>(re) * scale;
      kernel_im_[static_cast<size_t>(i)] = static_cast<F>(-im) * scale;
    }
  }
  std::vector<F> scratch(static_cast<size_t>(convolution_->scratch()));
  convolution_->Transform(kernel_re_.data(), kernel_im_.data(), scratch.data());
}

template <class F>
int64_t FftPlan<F>::TableNumbers(int64_t length) {
  // Stages of a radix hold twice the length, those after it a half of that at most. A convolution has up to four times the
  // length, its own stages, and kernel, chirp and scratch of their sizes.
  constexpr int64_t kStages = 4, kConvolution = 4 * (kStages + 4) + 2;
  return length * (length > 1 && Factors(length).empty() ? kConvolution : kStages) +
         2 * kLargestRadix * kLargestRadix * kStages;
}

template <class F>
int64_t FftPlan<F>::scratch() const {
  return convolution_ == nullptr ? 2 * length_ : 4 * convolution_->length();
}

template <class F>
void FftPlan<F>::Transform(F* re, F* im, F* scratch) const {
  if (convolution_ != nullptr) return Bluestein(re, im, scratch);
  F *from_re = re, *from_im = im, *to_re = scratch, *to_im = scratch + length_;
  for (const FftStage<F>& stage : stages_) {
    RunStage(stage, from_re, from_im, to_re, to_im);
    std::swap(from_re, to_re);
    std::swap(from_im, to_im);
  }
  if (from_re == re) return;
  InCancellablePieces(0, length_, kElementNs, [&](int64_t begin, int64_t end) {
    std::copy(from_re + begin, from_re + end, re + begin);
    std::copy(from_im + begin, from_im + end, im + begin);
  });
}

template <class F>
void FftPlan<F>::Bluestein(F* re, F* im, F* scratch) const {
  const int64_t padded = convolution_->length();
  F *a_re = scratch, *a_im = scratch + padded, *rest = scratch + 2 * padded;
  // to = from * factor, elementwise; `to` may be `from`.
  const auto multiply = [](int64_t count, const F* from_re, const F* from_im, const std::vector<F>& factor_re,
                           const std::vector<F>& factor_im, F* to_re, F* to_im) {
    InCancellablePieces(0, count, 2 * kElementNs, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const F c = factor_re[static_cast<size_t>(i)], s = factor_im[static_cast<size_t>(i)], x = from_re[i],
                y = from_im[i];
        to_re[i] = x * c - y * s;
        to_im[i] = x * s + y * c;
      }
    });
  };
  multiply(length_, re, im, chirp_re_, chirp_im_, a_re, a_im);
  InCancellablePieces(length_, padded, kElementNs, [&](int64_t begin, int64_t end) {
    std::fill(a_re + begin, a_re + end, F{0});
    std::fill(a_im + begin, a_im + end, F{0});
  });
  convolution_->Transform(a_re, a_im, rest);
  multiply(padded, a_re, a_im, kernel_re_, kernel_im_, a_re, a_im);
  convolution_->Transform(a_im, a_re, rest);  // swapped: the inverse
  multiply(length_, a_re, a_im, chirp_re_, chirp_im_, re, im);
}

template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace tessera::cpu
#endif
