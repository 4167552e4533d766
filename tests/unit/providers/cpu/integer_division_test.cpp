// Div and Mod of integers at the edges of their types, by one divisor (which has a reciprocal) and by many.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "attributes.h"
#include "model_builder.h"

namespace tessera {
namespace {

using testing::ModelBuilder;

template <class T>
std::vector<T> Edges() {
  using Limits = std::numeric_limits<T>;
  const T high = Limits::max(), low = Limits::min();
  std::vector<T> edges = {0, 1, 2, 3, 5, 7, 10, 64, 100, 127, T(high - 1), high, T(high / 2), T(high / 2 + 1), T(high / 3)};
  if (std::numeric_limits<T>::is_signed) {
    for (const int small : {-1, -2, -3, -7, -64, -100, -127}) edges.push_back(static_cast<T>(small));
    for (const T big : {low, T(low + 1), T(low / 2), T(low / 2 - 1), T(low / 3)}) edges.push_back(big);
  }
  return edges;
}

template <class T>
bool Overflows(T a, T b) {
  return std::numeric_limits<T>::is_signed && a == std::numeric_limits<T>::min() && b == static_cast<T>(-1);
}

/// Division by 0 gives 0, and what overflows wraps.
template <class T>
T Quotient(T a, T b) {
  if (b == 0) return 0;
  return Overflows(a, b) ? a : static_cast<T>(a / b);
}

template <class T>
T Remainder(T a, T b, bool fmod) {
  if (b == 0 || Overflows(a, b)) return 0;
  const T r = static_cast<T>(a % b);
  return !fmod && r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
}

template <class T>
std::vector<T> Run(const char* op, bool fmod, const std::vector<T>& a, const std::vector<T>& b) {
  const auto count = [](const std::vector<T>& values) { return static_cast<int64_t>(values.size()); };
  ModelBuilder model;
  model.Input("a", ElementTypeOf<T>, {count(a)})
      .Input("b", ElementTypeOf<T>, {count(b)})
      .Output("y", ElementTypeOf<T>, {count(a)});
  onnx::NodeProto& node = model.Node(op, {"a", "b"}, {"y"});
  if (fmod) testing::Int(node, "fmod", 1);
  std::vector<Value> results(1);
  model.Session().Run(std::vector<Value>{Tensor::Of<T>(Shape{count(a)}, a), Tensor::Of<T>(Shape{count(b)}, b)}, results);
  const auto values = results[0].tensor().values<T>();
  return {values.begin(), values.end()};
}

template <class T>
class IntegerDivision : public ::testing::Test {};
using IntegerTypes = ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(IntegerDivision, IntegerTypes);

TYPED_TEST(IntegerDivision, GivesWhatTheDefinitionSays) {
  using T = TypeParam;
  std::vector<T> numbers, divisors;
  for (const T b : Edges<T>()) {
    for (const T a : Edges<T>()) {
      for (const int near : {-1, 0, 1}) {
        using U = std::make_unsigned_t<T>;  // wraps around at the ends
        numbers.push_back(static_cast<T>(static_cast<U>(a) + static_cast<U>(near)));
        divisors.push_back(b);
      }
    }
  }
  const auto check = [](const std::vector<T>& a, const std::vector<T>& b) {
    const auto quotients = Run<T>("Div", false, a, b), floors = Run<T>("Mod", false, a, b),
               fmods = Run<T>("Mod", true, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const T by = b[b.size() == 1 ? 0 : i];
      ASSERT_EQ(quotients[i], Quotient(a[i], by)) << +a[i] << " / " << +by;
      ASSERT_EQ(floors[i], Remainder(a[i], by, false)) << +a[i] << " mod " << +by;
      ASSERT_EQ(fmods[i], Remainder(a[i], by, true)) << +a[i] << " fmod " << +by;
    }
  };
  check(numbers, divisors);
  for (const T divisor : Edges<T>()) check(numbers, {divisor});
}

}  // namespace
}  // namespace tessera
