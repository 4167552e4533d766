#pragma once

// Discrete Fourier transform of any length: mixed radix, Bluestein for lengths with large prime operands.

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::cpu {

/// One pass of the Stockham algorithm over `radix` * `m` points that stand `stride` apart.
template <class F>
struct FftStage {
  int radix;
  int64_t m;
  int64_t stride;
  // [radix - 1, m] for k >= 1: exp(-2 pi i p k / (radix * m)).
  std::vector<F> cos, sin;
  // [radix, radix] for radices without an own butterfly.
  std::vector<F> root_cos, root_sin;
};

template <class F>
class FftPlan {
 public:
  explicit FftPlan(int64_t length);
  /// Numbers that a plan of `length` keeps, and needs while it is made, at most.
  static int64_t TableNumbers(int64_t length);

  int64_t length() const { return length_; }

  /// Numbers of scratch that Transform needs.
  int64_t scratch() const;

  /// Forward transform in place, unscaled; swap the arrays for the inverse.
  void Transform(F* re, F* im, F* scratch) const;

 private:
  void Bluestein(F* re, F* im, F* scratch) const;

  int64_t length_;
  std::vector<FftStage<F>> stages_;
  // Bluestein: the chirp and the transform of its conjugate, padded to convolution_'s length.
  std::unique_ptr<FftPlan> convolution_;
  std::vector<F> chirp_re_, chirp_im_, kernel_re_, kernel_im_;
};

extern template class FftPlan<float>;
extern template class FftPlan<double>;

}  // namespace tessera::cpu
