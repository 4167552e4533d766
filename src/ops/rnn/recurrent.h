#pragma once

// RNN, GRU (1, 3, 7, 14, 22), LSTM (1, 7, 14, 22), com.microsoft DynamicQuantizeLSTM (1).

#include <limits>
#include <span>
#include <vector>

#include "ops/rnn/activation.h"
#include "tessera/provider/graph.h"

namespace tessera {

struct RecurrentAttributes {
  explicit RecurrentAttributes(const Node& node);

  bool clips() const { return clip != std::numeric_limits<float>::infinity(); }
  /// Those of one direction, in the order of f, g and h in the operator's text.
  std::span<const RecurrentActivation> ActivationsOf(int64_t direction) const;

  int64_t directions = 1;
  bool reverse = false;
  int64_t hidden_size;  // 0: as R says
  float clip = std::numeric_limits<float>::infinity();
  bool batch_first;                              // layout: X is [batch, steps, input]
  bool input_forget;                             // of LSTM: the two gates are one
  bool linear_before_reset;                      // of GRU: what R gives is reset, not the state before it
  std::vector<RecurrentActivation> activations;  // direction after direction
  bool default_activations;                      // of each gate that which it has when none is named
};

}  // namespace tessera
