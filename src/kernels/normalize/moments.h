#pragma once

// Moments of numbers that are looked at in parts.

#include <algorithm>

namespace tessera::cpu {

struct Moments {
  double mean = 0;
  double squares = 0;  // sum of squared differences from the mean
  double count = 0;
};

/// Of both together: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
/// (1979).
inline Moments Join(const Moments& a, const Moments& b) {
  if (a.count == 0) return b;
  const double count = a.count + b.count, delta = b.mean - a.mean;
  return {a.mean + delta * b.count / count, a.squares + b.squares + delta * delta * a.count * b.count / count, count};
}

/// Squares about the mean, from those about `shift`, the mean as rounded: smaller by the square of what it is off.
inline double SquaresAboutMean(double squares, double mean, double shift, double count) {
  const double off = mean - shift;
  return std::max(squares - off * off * count, 0.0);
}

}  // namespace tessera::cpu
