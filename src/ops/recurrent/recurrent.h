#pragma once

// RNN, GRU, LSTM (1, 7, 14, 22).

#include <limits>
#include <string>

#include "base/attribute.h"
#include "base/check.h"

namespace tessera {

struct RecurrentAttributes {
  explicit RecurrentAttributes(const Node& node)
      : hidden_size(AttributeOr<int64_t>(node, "hidden_size", 0)),
        batch_first(AttributeOr<int64_t>(node, "layout", 0) != 0),
        input_forget(AttributeOr<int64_t>(node, "input_forget", 0) != 0),
        linear_before_reset(AttributeOr<int64_t>(node, "linear_before_reset", 0) != 0) {
    const auto direction = AttributeOr<std::string>(node, "direction", "forward");
    Require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
            "direction is '{}'; forward, reverse or bidirectional is expected", direction);
    reverse = direction == "reverse";
    if (direction == "bidirectional") directions = 2;
    if (const float* given = FindTyped<float>(node, "clip")) clip = *given;
    Require(clip > 0, "clip is {}", clip);
    Require(hidden_size >= 0 && hidden_size < (int64_t{1} << 31), "hidden_size is {}", hidden_size);
  }

  bool clips() const { return clip != std::numeric_limits<float>::infinity(); }

  int64_t directions = 1;
  bool reverse = false;
  int64_t hidden_size;  // 0: as R says
  float clip = std::numeric_limits<float>::infinity();
  bool batch_first;          // layout: X is [batch, steps, input]
  bool input_forget;         // of LSTM: the two gates are one
  bool linear_before_reset;  // of GRU: what R gives is reset, not the state before it
};

}  // namespace tessera
