// Mod of reals is exact: the same bits as the C library's, whatever the quotient.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "attributes.h"
#include "model_builder.h"

namespace tessera {
namespace {

using testing::ModelBuilder;

template <class T>
std::vector<T> Run(bool fmod, const std::vector<T>& a, const std::vector<T>& b) {
  const ElementType type = sizeof(T) == 4 ? ElementType::kFloat : ElementType::kDouble;
  ModelBuilder model(21);
  model.Input("a", type, {-1}).Input("b", type, {-1}).Output("y", type, {-1});
  testing::Int(model.Node("Mod", {"a", "b"}, {"y"}), "fmod", fmod ? 1 : 0);
  const Session session = model.Session();
  const std::vector<Value> inputs = {Tensor::Of<T>(Shape({static_cast<int64_t>(a.size())}), a),
                                     Tensor::Of<T>(Shape({static_cast<int64_t>(b.size())}), b)};
  std::vector<Value> results(1);
  session.Run(inputs, results);
  const auto values = results[0].tensor().template values<T>();
  return {values.begin(), values.end()};
}

template <class T>
T Expected(bool fmod, T a, T b) {
  const T r = std::fmod(a, b);
  if (fmod) return r;
  if (r == 0) return std::copysign(T(0), b);
  return (r < 0) != (b < 0) ? r + b : r;
}

template <class T>
void ExpectSameBits(const std::vector<T>& a, const std::vector<T>& b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  for (const bool fmod : {true, false}) {
    const std::vector<T> y = Run(fmod, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const T divisor = b[b.size() == 1 ? 0 : i], expected = Expected(fmod, a[i], divisor);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(y[i])) << a[i] << " by " << divisor;
      } else {
        ASSERT_EQ(std::bit_cast<Bits>(y[i]), std::bit_cast<Bits>(expected))
            << a[i] << " by " << divisor << ": " << y[i] << ", not " << expected;
      }
    }
  }
}

template <class T>
class RealRemainder : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RealRemainder, Reals);

TYPED_TEST(RealRemainder, IsExact) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  const std::vector<T> edges = {0,
                                -T(0),
                                1,
                                -1,
                                3,
                                T(0.1),
                                T(-0.7),
                                T(6.5),
                                T(0x1p22),
                                T(0x1p30),
                                Limits::max(),
                                Limits::lowest(),
                                Limits::min(),
                                Limits::denorm_min(),
                                Limits::infinity(),
                                -Limits::infinity(),
                                Limits::quiet_NaN()};
  std::mt19937_64 random(1);
  std::vector<T> a, b;
  for (const T x : edges) {
    for (const T y : edges) a.push_back(x), b.push_back(y);
  }
  for (int i = 0; i < 20000; ++i) {
    const auto number = [&](int least, int most) {
      const T mantissa = T(1) + static_cast<T>(random() >> 11) * T(0x1p-53);
      return std::ldexp((random() & 1) != 0 ? -mantissa : mantissa,
                        least + static_cast<int>(random() % static_cast<uint64_t>(most - least)));
    };
    const T divisor = number(-8, 8);
    // Multiples and their neighbours: quotients that round to the next whole number.
    const T multiple = divisor * static_cast<T>(random() % 100000);
    a.push_back(i % 2 == 0 ? number(-10, 30) : i % 4 == 1 ? multiple : std::nextafter(multiple, T(0)));
    b.push_back(divisor);
  }
  ExpectSameBits(a, b);
  for (const T divisor : {T(0.7), T(-3), Limits::infinity(), T(0)}) ExpectSameBits(a, {divisor});
}

}  // namespace
}  // namespace tessera
