#pragma once

// Gates of the recurrent operators, one batch row at a time.

#include <cstdint>

#include "ops/rnn/activation.h"

namespace tessera::cpu {

/// Arrays of `hidden` numbers. Gates hold what goes into the activations, biases included; `clip` bounds it (infinity:
/// not).
template <class F>
struct LstmRow {
  int64_t hidden;
  const F *input, *output, *forget, *cell;                      // gates
  const F *peephole_input, *peephole_output, *peephole_forget;  // null: none
  RecurrentActivation f, g, h;
  F clip;
  bool input_forget;  // the forget gate is one minus the input gate
  F* c;               // state, replaced
  F* out;             // new hidden state
};

template <class F>
struct GruRow {
  int64_t hidden;
  F *update, *reset, *candidate;  // gates; update and reset are replaced by their activations
  const F* recurrent;             // candidate's recurrent part, to be scaled by reset; null: it is in `candidate` already
  RecurrentActivation f, g;
  F clip;
  F* state;        // hidden state, replaced
  F* reset_state;  // GruReset writes reset * state there; null: not wanted
};

template <class F>
void LstmCell(const LstmRow<F>& row);
template <class F>
void GruReset(const GruRow<F>& row);
template <class F>
void GruCell(const GruRow<F>& row);
/// out[i] = activation(clipped gate[i])
template <class F>
void RecurrentCell(const RecurrentActivation& activation, F clip, int64_t hidden, const F* gate, F* out);

}  // namespace tessera::cpu
