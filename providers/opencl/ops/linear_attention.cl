// Linear attention: a state [width, value_width] for each head of keys, changed by each step and read by its queries. Columns are
// independent: one work item walks all steps with one of them, and neighbouring items read neighbouring elements.
//   state = decay * state; v = beta * (v - k state), where there is a beta; state += k v; y = scale * q state

// The same struct stands in linear_attention.cpp.
typedef struct {
  long steps, heads, width, value_width;
  long q_heads, group;           // group: heads of the result that read one state
  long decay_step, beta_step;    // elements a step
  int decay_row;                 // 1: each row of a state has a decay of its own
  float scale;
} Sizes;

__kernel void linear_attention(ulong total, __global uchar* q_, ulong qo, __global uchar* k_, ulong ko, __global uchar* v_, ulong vo,
                               __global uchar* past_, ulong po, __global uchar* decay_, ulong dco, __global uchar* beta_, ulong beo,
                               __global uchar* y_, ulong yo, __global uchar* present_, ulong no, __global uchar* state_, ulong so, Sizes s) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long stride = s.value_width, column = (long)i % stride, head = (long)i / stride % s.heads, b = (long)i / stride / s.heads;
  const long first = (b * s.heads + head) * s.width * stride + column;
  __global float* state = AT(float, state_, so) + first;
  for (long row = 0; row < s.width; ++row) state[row * stride] = past_ != 0 ? (float)GET_S(past_ + po, first + row * stride) : 0.0f;
  for (long t = b * s.steps; t < (b + 1) * s.steps; ++t) {
    const long keys = (t * s.heads + head) * s.width;
    float value = GET_X(v_ + vo, (t * s.heads + head) * stride + column), known = 0;
    if (decay_ != 0 || beta_ != 0) {
      const long decays = t * s.decay_step + head * (s.decay_row ? s.width : 1);
      const float of_head = decay_ == 0 || s.decay_row ? 1.0f : exp(GET_X(decay_ + dco, decays));
      for (long row = 0; row < s.width; ++row) {
        const float kept = state[row * stride] * (s.decay_row ? exp(GET_X(decay_ + dco, decays + row)) : of_head);
        state[row * stride] = kept;
        known += GET_X(k_ + ko, keys + row) * kept;
      }
    }
    if (beta_ != 0) value = GET_X(beta_ + beo, t * s.beta_step + (s.beta_step == 1 ? 0 : head)) * (value - known);
    for (long row = 0; row < s.width; ++row) state[row * stride] += GET_X(k_ + ko, keys + row) * value;
    for (long g = 0; y_ != 0 && g < s.group; ++g) {
      const long queries = (t * s.q_heads + head * s.q_heads / s.heads + g) * s.width;
      float sum = 0;
      for (long row = 0; row < s.width; ++row) sum += GET_X(q_ + qo, queries + row) * state[row * stride];
      PUT_X(y_ + yo, ((t * s.heads + head) * s.group + g) * stride + column, s.scale * sum);
    }
  }
  for (long row = 0; present_ != 0 && row < s.width; ++row) PUT_S(present_ + no, first + row * stride, state[row * stride]);
}
