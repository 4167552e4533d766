#pragma once

// What DFT and STFT share: one signal in, its spectrum out, for one length.

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numbers>
#include <type_traits>
#include <vector>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/checked.h"
#include "kernels/signal/fft.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Half types are transformed in float.
template <class T>
using SignalNumber = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// The scalar in input `index`, of any integer type that lengths may have; `fallback` when it is omitted.
inline int64_t ReadLength(KernelContext& context, size_t index, int64_t fallback) {
  const Tensor* tensor = context.input(index);
  if (tensor == nullptr) return fallback;
  Require(tensor->num_elements() == 1, "input {} is {}, a scalar is expected", index, tensor->shape());
  if (tensor->is(ElementType::kInt32)) return *tensor->data<int32_t>();
  Require(tensor->is(ElementType::kInt64), "input {} is {}, int32 or int64 is expected", index,
          ElementTypeName(tensor->type()));
  return *tensor->data<int64_t>();
}

/// Transforms of signals of one length. Real signals of even length go through a transform of half the length.
template <class F>
class Spectrum {
 public:
  explicit Spectrum(int64_t length)
      : length_(length),
        full_(length),
        half_(length % 2 == 0 ? length / 2 : 1),
        rotation_re_(Rotations()),
        rotation_im_(rotation_re_.size()) {
    PacedCancellationPoint look(40);
    for (size_t k = 0; k < rotation_re_.size(); ++k) {
      look.Pass();
      const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
      rotation_re_[k] = static_cast<F>(std::cos(angle));
      rotation_im_[k] = static_cast<F>(std::sin(angle));
    }
  }

  int64_t length() const { return length_; }
  int64_t scratch() const { return std::max(full_.scratch(), half_.scratch()) + length_ + 2; }

  /// In place.
  void Complex(F* re, F* im, F* scratch) const { full_.Transform(re, im, scratch); }

  /// The first length / 2 + 1 bins of a real signal in `re`; both arrays hold that many after it.
  void Real(F* re, F* im, F* scratch) const {
    if (length_ % 2 != 0) {
      std::fill_n(im, length_, F{0});
      return full_.Transform(re, im, scratch);
    }
    const int64_t half = length_ / 2;
    F *even = scratch, *odd = scratch + half;
    for (int64_t i = 0; i < half; ++i) {
      even[i] = re[2 * i];
      odd[i] = re[2 * i + 1];
    }
    half_.Transform(even, odd, scratch + length_);
    for (int64_t k = 0; k <= half; ++k) {
      const int64_t a = k == half ? 0 : k, b = k == 0 ? 0 : half - k;
      // The transforms of the even and of the odd samples, told apart by symmetry.
      const F even_re = (even[a] + even[b]) / 2, even_im = (odd[a] - odd[b]) / 2;
      const F odd_re = (odd[a] + odd[b]) / 2, odd_im = (even[b] - even[a]) / 2;
      const F c = rotation_re_[static_cast<size_t>(k)], s = rotation_im_[static_cast<size_t>(k)];
      re[k] = even_re + odd_re * c - odd_im * s;
      im[k] = even_im + odd_re * s + odd_im * c;
    }
  }

  /// Of what a spectrum of `length` keeps, at most.
  static int64_t TableNumbers(int64_t length) {
    return FftPlan<F>::TableNumbers(length) + FftPlan<F>::TableNumbers(length / 2) + length + 2;
  }

 private:
  std::vector<F> Rotations() const { return std::vector<F>(length_ % 2 == 0 ? static_cast<size_t>(length_ / 2 + 1) : 0); }

  int64_t length_;
  FftPlan<F> full_;
  FftPlan<F> half_;
  std::vector<F> rotation_re_, rotation_im_;
};

/// The spectrum of the last length that was asked for.
template <class F>
class SpectrumCache {
 public:
  /// Its tables count against the memory of the run that made them.
  std::shared_ptr<const Spectrum<F>> Get(KernelContext& context, int64_t length) {
    {
      const std::lock_guard lock(mutex_);
      if (spectrum_ != nullptr && spectrum_->length() == length) return spectrum_;
      spectrum_ = nullptr;
    }
    // Outside of the lock, where a run that waited for another's tables could not be cancelled.
    auto counted = std::make_shared<Counted>(context.allocator(), length);
    const std::shared_ptr<const Spectrum<F>> made{counted, &counted->spectrum};
    const std::lock_guard lock(mutex_);
    spectrum_ = made;
    return made;
  }

 private:
  struct Counted {
    Counted(Allocator& memory, int64_t length)
        : charge(memory, CheckedMul(static_cast<size_t>(Spectrum<F>::TableNumbers(length)), sizeof(F))), spectrum(length) {}
    MemoryCharge charge;
    const Spectrum<F> spectrum;
  };

  std::mutex mutex_;
  std::shared_ptr<const Spectrum<F>> spectrum_;
};

/// Runs body(i, memory) for i in [0, count) on the threads; `memory` is `size` numbers of the running chunk's own.
template <class F, class Body>
void ForEachSignal(KernelContext& context, int64_t count, int64_t size, double cost_ns, Body body) {
  const int64_t chunks = std::min<int64_t>(count, 2 * context.threads().num_threads());
  const std::span<F> memory = context.scratch<F>(static_cast<size_t>(size * chunks));
  context.threads().ParallelFor(chunks, cost_ns * static_cast<double>(count) / static_cast<double>(chunks),
                                [&](int64_t begin, int64_t end) {
                                  PacedCancellationPoint look(cost_ns);
                                  for (int64_t c = begin; c < end; ++c) {
                                    for (int64_t i = count * c / chunks; i < count * (c + 1) / chunks; ++i) {
                                      look.Pass();
                                      body(i, memory.data() + c * size);
                                    }
                                  }
                                });
}

inline double TransformCost(int64_t length) {
  return static_cast<double>(length) * (5 + 2 * std::log2(static_cast<double>(length) + 1));
}

}  // namespace tessera::cpu
