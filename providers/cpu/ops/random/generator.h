#pragma once

// Random streams. A given seed gives the stream of NumPy's RandomState (Mersenne Twister, MT19937), which ONNX's reference
// evaluator uses: results with a seed can be compared. Without a seed every run draws a new stream.

#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>

#include "base/cancellation.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

class RandomStream {
 public:
  explicit RandomStream(std::optional<uint32_t> seed) : engine_(seed ? *seed : FreshSeed()) {}

  /// In [0, 1), 53 random bits. Whoever draws many can be cancelled.
  double Uniform() {
    look_.Pass();
    const uint64_t high = engine_() >> 5, low = engine_() >> 6;
    return (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) / 9007199254740992.0;
  }

  /// Standard normal by Marsaglia's polar method, in the order in which RandomState gives the pair.
  double Normal() {
    if (spare_) {
      const double value = *spare_;
      spare_.reset();
      return value;
    }
    double x, y, square;
    do {
      x = 2.0 * Uniform() - 1.0;
      y = 2.0 * Uniform() - 1.0;
      square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    const double scale = std::sqrt(-2.0 * std::log(square) / square);
    spare_ = scale * x;
    return scale * y;
  }

  /// True with probability p; NaN and values outside [0, 1] act as the nearer bound.
  bool Bernoulli(double p) {
    if (!(p > 0)) return false;
    return p <= 0.5 ? Uniform() > 1.0 - p : Uniform() <= p;
  }

 private:
  static uint32_t FreshSeed() {
    static std::atomic<uint32_t> next = std::random_device{}();
    return next.fetch_add(0x9e3779b9u, std::memory_order_relaxed);
  }

  std::mt19937 engine_;
  std::optional<double> spare_;
  PacedCancellationPoint look_{10};
};

/// The `seed` attribute, a float in most operators and an int in Dropout.
inline std::optional<uint32_t> SeedOf(const KernelInfo& info) {
  const AttributeValue* value = info.node().FindAttribute("seed");
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<int64_t>(value)) return static_cast<uint32_t>(*number);
  const float seed = info.attribute<float>("seed");
  return std::isnan(seed) ? std::nullopt : std::optional(static_cast<uint32_t>(static_cast<int64_t>(seed)));
}

}  // namespace tessera::cpu
