#pragma once

#include <optional>
#include <string>

#include "tessera/value.h"

namespace tessera::runner {

struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-7;
  /// Compare kinds, types and shapes only: outputs of random generators, whose streams ONNX does not specify.
  bool values_unspecified = false;
  /// Someone chose these numbers: they hold for half precision, too.
  bool strict = false;
};

struct Difference {
  std::string cause;    // "type", "shape" or "values"
  std::string message;  // where, what was seen, what was expected
};

/// Compares as onnx's backend test does: kinds, types, shapes and strings exactly, numbers by
/// |actual - expected| <= atol + rtol * |expected|, NaN equal to NaN. float16 and bfloat16 get two units in the last place
/// unless the tolerance is strict; integers are exact but for those of 8 and 16 bits where atol grants whole units. Raises
/// `largest_error` to the largest |actual - expected| of any number, infinite where only one of the two is finite.
std::optional<Difference> Compare(const Value& actual, const Value& expected, const Tolerance& tolerance,
                                  double& largest_error);

}  // namespace tessera::runner
