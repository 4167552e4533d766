#include "compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

namespace tessera::runner {
namespace {

Difference Differ(std::string cause, std::string message) { return {std::move(cause), std::move(message)}; }

std::string At(const Shape& shape, int64_t index) {
  Shape position(shape.rank());
  for (size_t i = shape.rank(); i-- > 0;) {
    position[i] = index % shape[i];
    index /= shape[i];
  }
  return position.ToString();
}

bool Close(double actual, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
  return std::abs(actual - expected) <= tolerance.atol + tolerance.rtol * std::abs(expected);
}

template <class T>
bool Close(std::complex<T> actual, std::complex<T> expected, const Tolerance& tolerance) {
  return std::abs(actual - expected) <= tolerance.atol + tolerance.rtol * std::abs(expected) ||
         (Close(actual.real(), expected.real(), tolerance) && Close(actual.imag(), expected.imag(), tolerance));
}

double ErrorOf(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  const double error = std::abs(actual - expected);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}
template <class T>
double ErrorOf(std::complex<T> actual, std::complex<T> expected) {
  return std::max(ErrorOf(actual.real(), expected.real()), ErrorOf(actual.imag(), expected.imag()));
}

/// Finds the elements that differ; `close` compares, `error` measures, `show` prints one. `rule` says what is close.
template <class T, class CloseFn, class Error, class Show>
std::optional<Difference> CompareElements(const Tensor& actual, const Tensor& expected, const std::string& rule,
                                          double& largest_error, CloseFn close, Error error, Show show) {
  int64_t count = 0, first = 0;
  double largest = 0;
  const T* a = actual.data<T>();
  const T* e = expected.data<T>();
  for (int64_t i = 0; i < actual.num_elements(); ++i) {
    largest = std::max(largest, error(a[i], e[i]));
    if (!close(a[i], e[i]) && count++ == 0) first = i;
  }
  largest_error = std::max(largest_error, largest);
  if (count == 0) return std::nullopt;
  const std::string detail =
      rule.empty() ? std::string() : fmt::format("; largest error {:.3g}, allowed {}", largest, rule);
  return Differ("values",
                fmt::format("{} of {} elements differ, first at {}: {} instead of {}{}", count, actual.num_elements(),
                            At(actual.shape(), first), show(a[first]), show(e[first]), detail));
}

std::string RuleOf(const Tolerance& tolerance) {
  return fmt::format("{:.3g} + {:.3g} of the expected value", tolerance.atol, tolerance.rtol);
}

/// `as` makes a type of it that can be computed with.
template <class T, class As>
std::optional<Difference> CompareReals(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                                       double& largest_error, As as) {
  return CompareElements<T>(
      actual, expected, RuleOf(tolerance), largest_error, [&](T a, T e) { return Close(as(a), as(e), tolerance); },
      [&](T a, T e) { return ErrorOf(as(a), as(e)); },
      [](T x) {
        if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
          return fmt::format("({},{})", x.real(), x.imag());
        else if constexpr (std::is_same_v<T, double>) return fmt::format("{}", x);
        else return fmt::format("{}", static_cast<float>(x));
      });
}

template <class T>
constexpr bool kMayBeQuantized = std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 2;

/// Quantized results may round a tie either way, which a case says by granting whole units. Wider integers are indices and
/// counts, where one off is wrong.
template <class T>
std::optional<Difference> CompareExact(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                                       double& largest_error) {
  const bool has_units = kMayBeQuantized<T> && tolerance.atol >= 1;
  const std::string rule = std::is_same_v<T, std::string> ? "" : has_units ? fmt::format("{:.3g}", tolerance.atol) : "none";
  const auto error = [](const T& a, const T& e) {
    if constexpr (std::is_same_v<T, std::string>) return 0.0;
    else return std::abs(static_cast<double>(a) - static_cast<double>(e));
  };
  return CompareElements<T>(
      actual, expected, rule, largest_error,
      [&](const T& a, const T& e) { return a == e || (has_units && error(a, e) <= tolerance.atol); }, error,
      [](const T& x) {
        if constexpr (sizeof(T) == 1) return fmt::format("{}", static_cast<int>(x));
        else return fmt::format("{}", x);
      });
}

/// Types of less than 16 bits are compared by their bits: packed or not, one unit is already a large difference.
std::optional<Difference> CompareBits(const Tensor& actual, const Tensor& expected) {
  return std::memcmp(actual.raw(), expected.raw(), actual.byte_size()) == 0
             ? std::nullopt
             : std::optional(Differ("values", fmt::format("the values of {} differ", ElementTypeName(actual.type()))));
}

/// Two units in the last place, which onnx's own runner allows bfloat16 too: the expected values were rounded after each
/// step of the reference's arithmetic, ours after each operator.
Tolerance ForHalves(Tolerance tolerance, double two_units) {
  if (!tolerance.strict) tolerance.rtol = std::max(tolerance.rtol, two_units);
  return tolerance;
}

std::optional<Difference> CompareTensors(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                                         double& largest_error) {
  if (actual.type() != expected.type()) {
    return Differ("type", fmt::format("element type {} instead of {}", ElementTypeName(actual.type()),
                                      ElementTypeName(expected.type())));
  }
  if (actual.shape() != expected.shape()) {
    return Differ("shape", fmt::format("shape {} instead of {}", actual.shape().ToString(), expected.shape().ToString()));
  }
  if (tolerance.values_unspecified || actual.num_elements() == 0) return std::nullopt;
  const auto as_double = [](auto x) { return static_cast<double>(static_cast<float>(x)); };
  const auto itself = [](auto x) { return x; };
  switch (actual.type()) {
    case ElementType::kFloat: return CompareReals<float>(actual, expected, tolerance, largest_error, as_double);
    case ElementType::kFloat16:
      return CompareReals<Float16>(actual, expected, ForHalves(tolerance, 0x1p-9), largest_error, as_double);
    case ElementType::kBFloat16:
      return CompareReals<BFloat16>(actual, expected, ForHalves(tolerance, 0x1p-6), largest_error, as_double);
    case ElementType::kDouble: return CompareReals<double>(actual, expected, tolerance, largest_error, itself);
    case ElementType::kComplex64:
      return CompareReals<std::complex<float>>(actual, expected, tolerance, largest_error, itself);
    case ElementType::kComplex128:
      return CompareReals<std::complex<double>>(actual, expected, tolerance, largest_error, itself);
    case ElementType::kString: return CompareExact<std::string>(actual, expected, tolerance, largest_error);
    case ElementType::kInt8: return CompareExact<int8_t>(actual, expected, tolerance, largest_error);
    case ElementType::kUInt8: return CompareExact<uint8_t>(actual, expected, tolerance, largest_error);
    case ElementType::kBool: return CompareExact<bool>(actual, expected, tolerance, largest_error);
    case ElementType::kInt16: return CompareExact<int16_t>(actual, expected, tolerance, largest_error);
    case ElementType::kUInt16: return CompareExact<uint16_t>(actual, expected, tolerance, largest_error);
    case ElementType::kInt32: return CompareExact<int32_t>(actual, expected, tolerance, largest_error);
    case ElementType::kUInt32: return CompareExact<uint32_t>(actual, expected, tolerance, largest_error);
    case ElementType::kInt64: return CompareExact<int64_t>(actual, expected, tolerance, largest_error);
    case ElementType::kUInt64: return CompareExact<uint64_t>(actual, expected, tolerance, largest_error);
    default: return CompareBits(actual, expected);
  }
}

std::optional<Difference> Within(std::string where, std::optional<Difference> difference) {
  if (difference) difference->message = where + ": " + difference->message;
  return difference;
}

std::optional<Difference> CompareSequences(const std::vector<Value>& actual, const std::vector<Value>& expected,
                                           const Tolerance& tolerance, double& largest_error) {
  if (actual.size() != expected.size()) {
    return Differ("shape", fmt::format("{} elements instead of {}", actual.size(), expected.size()));
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    if (auto difference = Within(fmt::format("element {}", i), Compare(actual[i], expected[i], tolerance, largest_error)))
      return difference;
  }
  return std::nullopt;
}

/// Maps are equal when each expected key has its value, in whatever order.
std::optional<Difference> CompareMaps(const Map& actual, const Map& expected, const Tolerance& tolerance,
                                      double& largest_error) {
  const auto keys = [](const Map& map) {
    std::vector<std::string> names;
    names.reserve(static_cast<size_t>(map.keys.num_elements()));
    for (int64_t i = 0; i < map.keys.num_elements(); ++i) {
      names.push_back(map.keys.is(ElementType::kString)
                          ? map.keys.data<std::string>()[i]
                          : std::string(static_cast<const char*>(map.keys.raw()) + i * BitWidth(map.keys.type()) / 8,
                                        static_cast<size_t>(BitWidth(map.keys.type()) / 8)));
    }
    return names;
  };
  if (actual.keys.type() != expected.keys.type()) return Differ("type", "the maps' key types differ");
  const auto actual_keys = keys(actual), expected_keys = keys(expected);
  if (actual_keys.size() != expected_keys.size()) {
    return Differ("shape", fmt::format("{} map entries instead of {}", actual_keys.size(), expected_keys.size()));
  }
  for (size_t i = 0; i < expected_keys.size(); ++i) {
    const auto found = std::find(actual_keys.begin(), actual_keys.end(), expected_keys[i]);
    if (found == actual_keys.end()) return Differ("values", fmt::format("map key {} of the expected map is missing", i));
    const Value value = actual.at(static_cast<size_t>(found - actual_keys.begin()));
    if (auto difference =
            Within(fmt::format("map entry {}", i), Compare(value, expected.at(i), tolerance, largest_error))) {
      return difference;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Difference> Compare(const Value& actual, const Value& expected, const Tolerance& tolerance,
                                  double& largest_error) {
  if (actual.kind() != expected.kind()) {
    return Differ("type", fmt::format("{} instead of {}", actual.type().ToString(), expected.type().ToString()));
  }
  switch (actual.kind()) {
    case ValueKind::kTensor: return CompareTensors(actual.tensor(), expected.tensor(), tolerance, largest_error);
    case ValueKind::kSequence:
      return CompareSequences(actual.sequence().elements, expected.sequence().elements, tolerance, largest_error);
    case ValueKind::kMap: return CompareMaps(actual.map(), expected.map(), tolerance, largest_error);
    case ValueKind::kSparseTensor:
      return CompareTensors(actual.sparse_tensor().ToDense(), expected.sparse_tensor().ToDense(), tolerance, largest_error);
    case ValueKind::kNone:
    case ValueKind::kOptional: break;
  }
  return std::nullopt;
}

}  // namespace tessera::runner
