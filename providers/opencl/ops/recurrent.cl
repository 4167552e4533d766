// RNN, GRU, LSTM. Gates of all steps get their share of X first; then a launch a step adds what depends on the state. Groups
// of LANES work items compute one element of the new state. States are [direction, batch, hidden] in what is computed in.
typedef struct { long steps, batch, input, hidden, gates, directions; int batch_first, reverse, input_forget, padding; } Sizes;

#ifdef FLOAT_X
#define saturated_tanh tanh_float
#else
#define saturated_tanh tanh_double
#endif
#if defined(ROWS) && defined(FLOAT_X)
// Without calls, so that compilers for processors make vectors of them; near 0, where 1 - 2 / (exp(2 x) + 1) cancels, by a series.
// A NaN passes through.
static inline TX act_tanh(TX x) {
  const TX square = x * x, series = x * (1.0f + square * (-0.333333333f + square * (0.133333333f + square * (-0.0539682540f + square * 0.0218694885f))));
  const TX size = fabs(x), far = 1.0f - 2.0f / (exponential(size > 40.0f ? 80.0f : 2.0f * size) + 1.0f);
  return square < 0.09f ? series : copysign(far, x);
}
static inline TX act_sigmoid(TX x) { return 1.0f / (1.0f + exponential(-x)); }
#else
static inline TX act_tanh(TX x) { return saturated_tanh(x); }
static inline TX act_sigmoid(TX x) { return R(1.0) / (R(1.0) + exp(-x)); }
#endif
static inline TX act_relu(TX x) { return x < 0 ? (TX)0 : x; }
static inline TX act_affine(TX x, TX alpha, TX beta) { return alpha * x + beta; }
static inline TX act_leaky(TX x, TX alpha) { return x >= 0 ? x : alpha * x; }
static inline TX act_thresholded(TX x, TX alpha) { return x >= alpha ? x : (TX)0; }
static inline TX act_scaled_tanh(TX x, TX alpha, TX beta) { return alpha * saturated_tanh(beta * x); }
static inline TX act_hard_sigmoid(TX x, TX alpha, TX beta) {
  const TX linear = alpha * x + beta;  // NaN stays
  return linear < 0 ? (TX)0 : linear > 1 ? (TX)1 : linear;
}
static inline TX act_elu(TX x, TX alpha) { return x >= 0 ? x : alpha * expm1(x); }
static inline TX act_softsign(TX x) { return x / (R(1.0) + fabs(x)); }
static inline TX act_softplus(TX x) { return (x > 0 ? x : (TX)0) + log1p(exp(-fabs(x))); }
static inline TX clipped(TX x, TX clip) { return x < -clip ? -clip : x > clip ? clip : x; }

// Row of a state tensor that the caller sees.
static inline long state_row(long d, long b, Sizes s) { return s.batch_first ? b * s.directions + d : d * s.batch + b; }

#ifdef KERNEL_load_state
__kernel void load_state(ulong total, __global uchar* initial_, ulong io, __global uchar* state_, ulong so, Sizes s) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long j = (long)i % s.hidden, b = (long)i / s.hidden % s.batch, d = (long)i / s.hidden / s.batch;
  AT(TX, state_, so)[i] = initial_ != 0 ? GET_X(initial_ + io, state_row(d, b, s) * s.hidden + j) : (TX)0;
}
#endif

#ifdef KERNEL_store_state
// A sequence without steps has no last state.
__kernel void store_state(ulong total, __global uchar* state_, ulong so, __global uchar* lengths_, ulong lo, __global uchar* y_, ulong yo,
                          Sizes s) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long j = (long)i % s.hidden, b = (long)i / s.hidden % s.batch, d = (long)i / s.hidden / s.batch;
  const int none = lengths_ != 0 && AT(const long, lengths_, lo)[b] == 0;
  PUT_X(y_ + yo, state_row(d, b, s) * s.hidden + j, none ? (TX)0 : AT(const TX, state_, so)[i]);
}
#endif

#ifdef KERNEL_input_matmuls
// gates[direction, position of X, gate] = X * W + biases; R's bias of gates from `unfolded` on is left out. Positions in blocks
// of PER, so that a weight is read once for all of them.
__kernel void input_matmuls(ulong total, __global uchar* x_, ulong xo, __global uchar* w_, ulong wo, __global uchar* bias_, ulong bo,
                             __global uchar* gates_, ulong go, Sizes s, long unfolded) {
  const long gate = get_global_id(0), width = s.gates * s.hidden, positions = s.steps * s.batch;
  if ((ulong)gate >= total) return;
  const long first = get_global_id(1) * PER, d = get_global_id(2), row = (d * width + gate) * s.input;
  TX bias = 0;
  if (bias_ != 0) {
    bias = GET_X(bias_ + bo, d * 2 * width + gate);
    if (gate < unfolded) bias += GET_X(bias_ + bo, (d * 2 + 1) * width + gate);
  }
  TX sum[PER];
  for (int p = 0; p < PER; ++p) sum[p] = bias;
  for (long i = 0; i < s.input; ++i) {
    const TX w = GET_X(w_ + wo, row + i);
    for (int p = 0; p < PER; ++p) sum[p] += w * GET_X(x_ + xo, min(first + p, positions - 1) * s.input + i);
  }
  for (int p = 0; p < PER && first + p < positions; ++p) AT(TX, gates_, go)[(d * positions + first + p) * width + gate] = sum[p];
}
#endif

#if defined(LANES) && !defined(ROWS)
GROUP_FOLD(TX)

// The group's product of a row of R and a state.
static inline __attribute__((always_inline)) TX row_dot(__global uchar* r, long row, __global const TX* state, long hidden, __local TX* lanes) {
  const int lane = get_local_id(0);
  TX sum = 0;
  for (long i = lane; i < hidden; i += LANES) sum += GET_X(r, row * hidden + i) * state[i];
  return group_fold(lanes, sum, 0);
}

// Where a group works: element j of entry b of direction d, at a step of its own.
#define POSITION                                                                                                            \
  __local TX lanes[LANES];                                                                                               \
  const long j = get_group_id(1), b = get_group_id(2) % s.batch, d = get_group_id(2) / s.batch;                         \
  const long step = d == 1 || s.reverse ? s.steps - 1 - iteration : iteration, width = s.gates * s.hidden;                         \
  const long position = s.batch_first ? b * s.steps + step : step * s.batch + b, state = (d * s.batch + b) * s.hidden;   \
  __global const TX* gate = AT(const TX, gates_, go) + (d * s.steps * s.batch + position) * width + j;                   \
  __global const TX* h = AT(const TX, h_, ho) + state;                                                                   \
  const long rows = d * width + j;                                                                                       \
  const int active = lengths_ == 0 || step < AT(const long, lengths_, lo)[b];
#define GATE(g) (gate[(g) * s.hidden])
#define RECURRENT(g, of) row_dot(r_ + ro, rows + (g) * s.hidden, of, s.hidden, lanes)
// Entries past their sequence's end keep their state and give zeros.
#define FINISH(value)                                                                                                    \
  if (get_local_id(0) == 0) {                                                                                            \
    const TX result = value;                                                                                             \
    AT(TX, next_, no)[state + j] = active ? result : h[j];                                                               \
    const long row = s.batch_first ? (b * s.steps + step) * s.directions + d : (step * s.directions + d) * s.batch + b;  \
    if (y_ != 0) PUT_X(y_ + yo, row * s.hidden + j, active ? result : (TX)0);                                            \
  }
#define STEP_ARGUMENTS                                                                                                   \
  __global uchar* gates_, ulong go, __global uchar* r_, ulong ro, __global uchar* lengths_, ulong lo, __global uchar* h_, ulong ho,    \
      __global uchar* next_, ulong no, __global uchar* y_, ulong yo, __global uchar* extra_, ulong eo, __global uchar* bias_, ulong bo, \
      Sizes s, long iteration, float clip
#endif

#ifdef KERNEL_rnn_step
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void rnn_step(STEP_ARGUMENTS) {
  POSITION
  const TX x = GATE(0) + RECURRENT(0, h);
  FINISH(F(clipped(x, (TX)clip)))
}
#endif

#if defined(KERNEL_lstm_step) || defined(KERNEL_lstm_panel)
// Of the old cell state; p: the peepholes.
static inline TX lstm_cell(TX xi, TX xf, TX xc, TX old, TX pi, TX pf, long d, int input_forget, TX clip) {
  const TX in = F(clipped(xi + pi * old, clip));
  const TX forget = input_forget ? 1 - in : F(clipped(xf + pf * old, clip));
  return forget * old + in * G(clipped(xc, clip));
}
static inline TX lstm_state(TX xo, TX cell, TX po, long d, TX clip) { return F(clipped(xo + po * cell, clip)) * H(cell); }
#endif

#ifdef KERNEL_lstm_step
// extra: the cell state, replaced. bias: peepholes of the input, output and forget gates.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void lstm_step(STEP_ARGUMENTS) {
  POSITION
  const TX xi = GATE(0) + RECURRENT(0, h), xo = GATE(1) + RECURRENT(1, h), xf = GATE(2) + RECURRENT(2, h), xc = GATE(3) + RECURRENT(3, h);
  if (get_local_id(0) != 0) return;
  __global TX* c = AT(TX, extra_, eo) + state + j;
  const TX old = *c;
  const long p = d * 3 * s.hidden + j;
  const TX pi = bias_ != 0 ? GET_X(bias_ + bo, p) : (TX)0, po = bias_ != 0 ? GET_X(bias_ + bo, p + s.hidden) : (TX)0;
  const TX pf = bias_ != 0 ? GET_X(bias_ + bo, p + 2 * s.hidden) : (TX)0;
  const TX cell = lstm_cell(xi, xf, xc, old, pi, pf, d, s.input_forget, (TX)clip);
  if (active) *c = cell;
  FINISH(lstm_state(xo, cell, po, d, (TX)clip))
}
#endif

#ifdef KERNEL_gru_reset
// next: reset * h.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void gru_reset(STEP_ARGUMENTS) {
  POSITION
  const TX x = GATE(1) + RECURRENT(1, h);
  if (get_local_id(0) == 0) AT(TX, next_, no)[state + j] = F(clipped(x, (TX)clip)) * h[j];
}
#endif

#ifdef KERNEL_gru_step
// extra: reset * h of gru_reset; without it the candidate's recurrent part, with its bias, is scaled by reset afterwards.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void gru_step(STEP_ARGUMENTS) {
  POSITION
  const TX xz = GATE(0) + RECURRENT(0, h);
  TX xh = GATE(2);
  if (extra_ != 0) {
    xh += RECURRENT(2, AT(const TX, extra_, eo) + state);
  } else {
    const TX reset = F(clipped(GATE(1) + RECURRENT(1, h), (TX)clip));
    const TX bias = bias_ != 0 ? GET_X(bias_ + bo, (d * 2 + 1) * width + 2 * s.hidden + j) : (TX)0;
    xh += reset * (RECURRENT(2, h) + bias);
  }
  const TX update = F(clipped(xz, (TX)clip));
  FINISH((1 - update) * G(clipped(xh, (TX)clip)) + update * h[j])
}
#endif

#ifdef ROWS
// For processors, after block.cl: an item computes a panel of COLUMNS elements of the new states of ROWS entries. R stands in panels,
// those of a gate after those of the one before. Panels in the first dimension, blocks of entries in the second, directions in the third.
#define PANEL_ARGUMENTS                                                                                                  \
  __global uchar* gates_, ulong go, __global uchar* r_, ulong ro, __global uchar* lengths_, ulong lo, __global uchar* h_, ulong ho,    \
      __global uchar* next_, ulong no, __global uchar* y_, ulong yo, __global uchar* extra_, ulong eo, __global uchar* peephole_, ulong po, \
      __global uchar* bias_, ulong bo, Sizes s, long iteration, float clip

#define PANELS(s) ((s.hidden + COLUMNS - 1) / COLUMNS)  // of a gate

// Where an item works.
#define PANEL_POSITION                                                                                                      \
  const int column = get_global_id(0) * COLUMNS, width = min(COLUMNS, (int)s.hidden - column), first_row = get_global_id(1) * ROWS;    \
  const long d = get_global_id(2), step = d == 1 || s.reverse ? s.steps - 1 - iteration : iteration;                               \
  __global const TX* panels = AT(const TX, r_, ro) + (d * s.gates * PANELS(s) + get_global_id(0)) * s.hidden * COLUMNS;
// Of entry b: its state, its share of X, and so on.
#define PANEL_ROW(b)                                                                                                     \
  const long state = (d * s.batch + (b)) * s.hidden + column, position = s.batch_first ? (b) * s.steps + step : step * s.batch + (b);  \
  __global const TX* x = AT(const TX, gates_, go) + (d * s.steps * s.batch + position) * s.gates * s.hidden + column;    \
  const int active = lengths_ == 0 || step < AT(const long, lengths_, lo)[b];
#define BIAS(g) (bias_ == 0 ? 0 : bias_ + bo), (d * 2 + 1) * s.gates * s.hidden + (g) * s.hidden + column

// What a gate gets from states `from`, by entries.
INLINE void gate_matmuls(TX* values, __global const TX* panels, long gate, __global const TX* from, int first_row, Sizes s) {
  Rows rows;
  rows.column = 1;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) rows.at[r] = (__global const uchar*)(from + min((long)first_row + r, s.batch - 1) * s.hidden);
  __global const TX* b = panels + gate * PANELS(s) * s.hidden * COLUMNS;
  V sum[ROWS][VECTORS];
  clear_block(sum);
  MULTIPLY_ADD(sum, rows, b, COLUMNS, (int)s.hidden)
  store_block(sum, values, COLUMNS);
}
// A gate's sum: of those, X's share and R's bias.
INLINE void add_gates(TX* to, const TX* values, __global const TX* x, __global const uchar* bias, long at, int width) {
  for (int j = 0; j < COLUMNS; ++j) to[j] = values[j];
  for (int j = 0; j < width; ++j) to[j] += x[j];
  if (bias != 0) {
    for (int j = 0; j < width; ++j) to[j] += GET_X(bias, at + j);
  }
}
INLINE void load_row(TX* to, __global const uchar* from, long at, int width) {
  for (int j = 0; j < COLUMNS; ++j) to[j] = from != 0 && j < width ? GET_X(from, at + j) : (TX)0;
}
// Entries past their sequence's end keep their state and give zeros.
INLINE void store_states(const TX* results, const TX* old, __global TX* next, __global uchar* y, long at_y, int active, int width) {
  for (int j = 0; j < width; ++j) next[j] = active ? results[j] : old[j];
  if (y == 0) return;
  for (int j = 0; j < width; ++j) PUT_X(y, at_y + j, active ? results[j] : (TX)0);
}
#define STORE_STATES(results, old, b)                                                                                    \
  store_states(results, old, AT(TX, next_, no) + state, y_ == 0 ? 0 : y_ + yo,                                           \
               (s.batch_first ? ((b) * s.steps + step) * s.directions + d : (step * s.directions + d) * s.batch + (b)) * s.hidden + column, active, width);
#define STATES(from, offset) (AT(const TX, from, offset) + d * s.batch * s.hidden)
#endif

#ifdef KERNEL_rnn_panel
__kernel void rnn_panel(PANEL_ARGUMENTS) {
  PANEL_POSITION
  TX values[ROWS * COLUMNS];
  gate_matmuls(values, panels, 0, STATES(h_, ho), first_row, s);
  for (int r = 0; r < min((long)ROWS, s.batch - first_row); ++r) {
    PANEL_ROW(first_row + r)
    TX sum[COLUMNS], old[COLUMNS];
    add_gates(sum, values + r * COLUMNS, x, BIAS(0), width);
    load_row(old, h_ + ho, state, width);
    for (int j = 0; j < COLUMNS; ++j) sum[j] = F(clipped(sum[j], (TX)clip));
    STORE_STATES(sum, old, first_row + r)
  }
}
#endif

#ifdef KERNEL_lstm_panel
// extra: the cell state, replaced.
__kernel void lstm_panel(PANEL_ARGUMENTS) {
  PANEL_POSITION
  TX values[4][ROWS * COLUMNS];
  for (int g = 0; g < 4; ++g) gate_matmuls(values[g], panels, g, STATES(h_, ho), first_row, s);
  for (int r = 0; r < min((long)ROWS, s.batch - first_row); ++r) {
    PANEL_ROW(first_row + r)
    TX sums[4][COLUMNS], peepholes[3][COLUMNS], old[COLUMNS], cells[COLUMNS], new_cells[COLUMNS];
    for (int g = 0; g < 4; ++g) add_gates(sums[g], values[g] + r * COLUMNS, x + g * s.hidden, BIAS(g), width);
    for (int g = 0; g < 3; ++g) load_row(peepholes[g], peephole_ == 0 ? 0 : peephole_ + po, (d * 3 + g) * s.hidden + column, width);
    __global TX* c = AT(TX, extra_, eo) + state;
    for (int j = 0; j < COLUMNS; ++j) cells[j] = j < width ? c[j] : (TX)0;
    load_row(old, h_ + ho, state, width);
    for (int j = 0; j < COLUMNS; ++j) {
      new_cells[j] = lstm_cell(sums[0][j], sums[2][j], sums[3][j], cells[j], peepholes[0][j], peepholes[2][j], d, s.input_forget, (TX)clip);
    }
    for (int j = 0; j < COLUMNS; ++j) sums[1][j] = lstm_state(sums[1][j], new_cells[j], peepholes[1][j], d, (TX)clip);
    if (active) {
      for (int j = 0; j < width; ++j) c[j] = new_cells[j];
    }
    STORE_STATES(sums[1], old, first_row + r)
  }
}
#endif

#ifdef KERNEL_gru_reset_panel
// next: reset * h.
__kernel void gru_reset_panel(PANEL_ARGUMENTS) {
  PANEL_POSITION
  TX values[ROWS * COLUMNS];
  gate_matmuls(values, panels, 1, STATES(h_, ho), first_row, s);
  for (int r = 0; r < min((long)ROWS, s.batch - first_row); ++r) {
    PANEL_ROW(first_row + r)
    TX sum[COLUMNS], old[COLUMNS];
    add_gates(sum, values + r * COLUMNS, x + s.hidden, BIAS(1), width);
    load_row(old, h_ + ho, state, width);
    for (int j = 0; j < COLUMNS; ++j) sum[j] = F(clipped(sum[j], (TX)clip)) * old[j];
    for (int j = 0; j < width; ++j) AT(TX, next_, no)[state + j] = active ? sum[j] : (TX)0;
  }
}
#endif

#ifdef KERNEL_gru_panel
// extra: reset * h of gru_reset_panel; without it the candidate's recurrent part, with its bias, is scaled by reset afterwards.
__kernel void gru_panel(PANEL_ARGUMENTS) {
  PANEL_POSITION
  TX values[3][ROWS * COLUMNS];
  gate_matmuls(values[0], panels, 0, STATES(h_, ho), first_row, s);
  if (extra_ == 0) gate_matmuls(values[1], panels, 1, STATES(h_, ho), first_row, s);
  if (extra_ == 0) gate_matmuls(values[2], panels, 2, STATES(h_, ho), first_row, s);
  if (extra_ != 0) gate_matmuls(values[2], panels, 2, STATES(extra_, eo), first_row, s);
  for (int r = 0; r < min((long)ROWS, s.batch - first_row); ++r) {
    PANEL_ROW(first_row + r)
    TX update[COLUMNS], candidate[COLUMNS], old[COLUMNS];
    add_gates(update, values[0] + r * COLUMNS, x, BIAS(0), width);
    load_row(old, h_ + ho, state, width);
    if (extra_ != 0) {
      add_gates(candidate, values[2] + r * COLUMNS, x + 2 * s.hidden, BIAS(2), width);
    } else {
      TX reset[COLUMNS], share[COLUMNS], bias[COLUMNS];
      add_gates(reset, values[1] + r * COLUMNS, x + s.hidden, BIAS(1), width);
      load_row(bias, BIAS(2), width);
      for (int j = 0; j < COLUMNS; ++j) share[j] = j < width ? x[2 * s.hidden + j] : (TX)0;
      for (int j = 0; j < COLUMNS; ++j) candidate[j] = share[j] + F(clipped(reset[j], (TX)clip)) * (values[2][r * COLUMNS + j] + bias[j]);
    }
    for (int j = 0; j < COLUMNS; ++j) {
      const TX z = F(clipped(update[j], (TX)clip));
      update[j] = (1 - z) * G(clipped(candidate[j], (TX)clip)) + z * old[j];
    }
    STORE_STATES(update, old, first_row + r)
  }
}
#endif
