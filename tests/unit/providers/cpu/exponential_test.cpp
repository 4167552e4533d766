// Exp and Elu over their whole range, subnormal results and the edges included.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "model_builder.h"

namespace tessera {
namespace {

using testing::ModelBuilder;

template <class T>
std::vector<T> Sweep() {
  using Limits = std::numeric_limits<T>;
  const T low = std::is_same_v<T, float> ? T(-110) : T(-760), high = std::is_same_v<T, float> ? T(95) : T(715);
  std::vector<T> x = {T(0),          T(-0.0),          Limits::infinity(), -Limits::infinity(),  Limits::quiet_NaN(),
                      Limits::max(), Limits::lowest(), Limits::min(),      Limits::denorm_min(), Limits::epsilon()};
  // A prime number of steps; whole vectors of moderate ones, and others among them.
  for (int i = 0; i <= 100'003; ++i) x.push_back(low + (high - low) * static_cast<T>(i) / T(100'003));
  for (int i = 0; i <= 10'007; ++i) x.push_back(T(i % 97 == 0 ? 100 : 3) * std::sin(static_cast<T>(i)));
  return x;
}

template <class T>
std::vector<T> Run(const char* op, const std::vector<T>& x) {
  const auto count = static_cast<int64_t>(x.size());
  ModelBuilder model;
  model.Input("x", ElementTypeOf<T>, {count}).Output("y", ElementTypeOf<T>, {count});
  model.Node(op, {"x"}, {"y"});
  std::vector<Value> results(1);
  model.Session().Run(std::vector<Value>{Tensor::Of<T>(Shape{count}, x)}, results);
  const auto values = results[0].tensor().values<T>();
  return {values.begin(), values.end()};
}

/// Checks y within `ulps` units in the last place of `exact`, which has more digits.
template <class T>
void Check(T x, T y, long double exact, int ulps) {
  const T nearest = static_cast<T>(exact);
  if (std::isnan(nearest)) {
    ASSERT_TRUE(std::isnan(y)) << x;
  } else if (std::isinf(nearest) || std::isinf(y)) {
    // At the very top a rounding decides.
    const long double top = std::numeric_limits<T>::max();
    ASSERT_TRUE(nearest == y || std::fabs(exact / top - 1) < 1e-5L) << x << ": " << y;
  } else {
    const T magnitude = std::fabs(nearest);
    const T unit = std::max(std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - magnitude,
                            std::numeric_limits<T>::denorm_min());
    ASSERT_LE(std::fabs(static_cast<long double>(y) - exact), ulps * static_cast<long double>(unit))
        << x << ": " << y << ", not " << nearest;
  }
}

template <class T>
class Exponential : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Exponential, RealTypes);

TYPED_TEST(Exponential, ExpIsWithinTwoUlps) {
  const std::vector<TypeParam> x = Sweep<TypeParam>(), y = Run("Exp", x);
  for (size_t i = 0; i < x.size(); ++i) Check(x[i], y[i], std::exp(static_cast<long double>(x[i])), 2);
}

TYPED_TEST(Exponential, EluIsWithinThreeUlps) {
  const std::vector<TypeParam> x = Sweep<TypeParam>(), y = Run("Elu", x);
  for (size_t i = 0; i < x.size(); ++i) {
    Check(x[i], y[i], x[i] < 0 ? std::expm1(static_cast<long double>(x[i])) : static_cast<long double>(x[i]), 3);
  }
}

}  // namespace
}  // namespace tessera
