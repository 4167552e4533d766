#pragma once

// ReverseSequence (10, 28): the first steps of each sequence in reverse order, the others as they are.

#include <span>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

struct ReverseSequenceAttributes {
  explicit ReverseSequenceAttributes(const Node& node) {
    const auto time_axis = AttributeOr<int64_t>(node, "time_axis", 0),
               batch_axis = AttributeOr<int64_t>(node, "batch_axis", 1);
    Require((time_axis == 0 && batch_axis == 1) || (time_axis == 1 && batch_axis == 0),
            "time_axis is {} and batch_axis {}, one of them must be 0 and the other 1", time_axis, batch_axis);
    time_first = time_axis == 0;
  }

  int64_t Times(const Shape& x) const { return x[time_first ? 0 : 1]; }
  int64_t Batch(const Shape& x) const { return x[time_first ? 1 : 0]; }
  /// How many steps of each sequence are reversed. `lengths` is input 1, in host memory. Throws Error where it does not fit
  /// x.
  std::span<const int64_t> Lengths(const Shape& x, const Tensor& lengths) const {
    Require(x.rank() >= 2, "input has shape {}, at least two dimensions are expected", x);
    Require(lengths.is(ElementType::kInt64), "sequence_lens is {}, expected int64", ElementTypeName(lengths.type()));
    Require(lengths.shape() == Shape{Batch(x)}, "sequence_lens has shape {}, expected [{}]", lengths.shape(), Batch(x));
    const std::span<const int64_t> steps = lengths.values<int64_t>();
    for (size_t i = 0; i < steps.size(); ++i) {
      Require(steps[i] >= 0 && steps[i] <= Times(x), "sequence_lens[{}] is {}, sequences have {} steps", i, steps[i],
              Times(x));
    }
    return steps;
  }

  bool time_first;  // [time, batch, ...], else [batch, time, ...]
};

}  // namespace tessera
