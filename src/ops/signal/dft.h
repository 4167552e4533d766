#pragma once

// DFT (17, 20), STFT (17).

#include <optional>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

struct DftAttributes {
  explicit DftAttributes(const Node& node)
      : axis(node.since_version < 20 ? AttributeOr<int64_t>(node, "axis", 1) : -2),
        axis_is_input(node.since_version >= 20),
        inverse(AttributeOr<int64_t>(node, "inverse", 0) != 0),
        onesided(AttributeOr<int64_t>(node, "onesided", 0) != 0) {}

  /// The dimension that `given` names of signals whose components stand last. Throws Error where it is none.
  static size_t SignalAxis(const Shape& x, int64_t given) {
    const auto rank = static_cast<int64_t>(x.rank());
    Require(rank >= 2 && (x.back() == 1 || x.back() == 2), "input is {}, [..., 1] or [..., 2] is expected", x);
    const int64_t axis = given < 0 ? given + rank : given;
    Require(axis >= 0 && axis < rank - 1, "axis {} is not a signal axis of {}", given, x);
    return static_cast<size_t>(axis);
  }

  int64_t axis;  // where input 2 names none
  bool axis_is_input;
  bool inverse;
  bool onesided;  // only the bins that real signals have
};

struct StftAttributes {
  explicit StftAttributes(const Node& node) : onesided(AttributeOr<int64_t>(node, "onesided", 1) != 0) {}

  struct Sizes {
    int64_t batches, points, components, length, frames, bins;
    Shape result() const { return {batches, frames, bins, 2}; }
  };
  /// Of signals [batches, points, 1 or 2] with a window, which may be null; frames are as long as it, or as the signal,
  /// where their length is not given. Throws Error where these do not fit.
  Sizes Fit(const Tensor& signal, int64_t step, const Tensor* window, std::optional<int64_t> frame_length) const {
    const Shape& shape = signal.shape();
    Require(shape.rank() == 2 || (shape.rank() == 3 && (shape[2] == 1 || shape[2] == 2)),
            "signal is {}, [batches, points, 1 or 2] is expected", shape);
    const int64_t points = shape[1];
    Require(step >= 1, "frame_step is {}", step);
    Require(window == nullptr || (window->shape().rank() == 1 && window->is(signal.type())),
            "window is {}, a vector of {} is expected", OptionalShape{window}, ElementTypeName(signal.type()));
    const int64_t length = frame_length.value_or(window != nullptr ? window->num_elements() : points);
    Require(length >= 1 && length < (int64_t{1} << 31), "frame_length is {}", length);
    Require(window == nullptr || window->num_elements() == length, "window is {} and frame_length is {}",
            OptionalShape{window}, length);
    return {.batches = shape[0],
            .points = points,
            .components = shape.rank() == 2 ? 1 : shape[2],
            .length = length,
            .frames = points < length ? 0 : (points - length) / step + 1,
            .bins = onesided ? length / 2 + 1 : length};
  }

  bool onesided;
};

}  // namespace tessera
