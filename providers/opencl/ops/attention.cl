// Scaled dot-product attention: a group of LANES work items a query row. The softmax is carried along from keys to keys (running
// maximum and sum), so that scores never leave local memory.
typedef struct {
  long batch, q_heads, kv_heads, queries, keys, width, value_width;
  long q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, y_batch, y_head, y_row;
  long m_batch, m_head, m_row, m_key, m_keys, offset, left, right;
  int causal, stage;
  float scale, softcap;
} Problem;

GROUP_FOLD(TX)

// Keys [begin, end) are seen by query i of batch b.
#define ROW                                                                                                       \
  const long i = get_group_id(1), b = get_group_id(2) / p.q_heads, h = get_group_id(2) % p.q_heads;               \
  const long kv = h / (p.q_heads / p.kv_heads);                                                                   \
  long begin = 0, end = p.keys, at = i + p.offset;                                                                \
  if (lengths_ != 0) {                                                                                            \
    end = min(end, AT(const long, lengths_, lo)[b]);                                                              \
    at = i + AT(const long, lengths_, lo)[b] - p.queries;                                                         \
  }                                                                                                               \
  if (p.causal) end = min(end, at + 1);                                                                           \
  if (p.right >= 0 && p.right < p.keys) end = min(end, at + p.right + 1);                                         \
  if (p.left >= 0 && p.left < at) begin = at - p.left;                                                            \
  if (mask_ != 0) end = min(end, p.m_keys);                                                                       \
  end = max(end, 0L);                                                                                             \
  begin = min(begin, end);                                                                                        \
  const long q_at = b * p.q_batch + h * p.q_head + i * p.q_row, m_at = b * p.m_batch + h * p.m_head + i * p.m_row;

// The score of key k after `stage`: 0 the product, 1 the soft cap, 2 the mask.
inline TX score(__global uchar* q, __global uchar* k, __global uchar* mask, long k_at, long q_at, long m_at, int stage, Problem p) {
  TX sum = 0;
  long c = 0;
#ifdef KERNEL_attend_row
  TX4 parts[STEP / 4];
#pragma unroll
  for (int j = 0; j < STEP / 4; ++j) parts[j] = 0;
  for (; c + STEP <= p.width; c += STEP) {
#pragma unroll
    for (int j = 0; j < STEP / 4; ++j) parts[j] += TO_TX4(GET4_Q(q, q_at + c + j * 4)) * TO_TX4(GET4_K(k, k_at + c + j * 4));
  }
  const TX4 together = (parts[0] + parts[1]) + (parts[2] + parts[3]);
  sum = (together.x + together.y) + (together.z + together.w);
#endif
  for (; c < p.width; ++c) sum += (TX)GET_Q(q, q_at + c) * (TX)GET_K(k, k_at + c);
  sum *= p.scale;
  if (stage >= 1 && p.softcap > 0) sum = p.softcap * tanh(sum / p.softcap);
  if (stage >= 2 && mask != 0) {
#ifdef MASKS
    if (!GET_M(mask, m_at)) sum = -INFINITY;
#else
    sum += (TX)GET_M(mask, m_at);
#endif
  }
  return sum;
}

#define ARGUMENTS                                                                                                 \
  __global uchar* q_, ulong qo, __global uchar* k_, ulong ko, __global uchar* v_, ulong vo, __global uchar* mask_, ulong mo, \
      __global uchar* lengths_, ulong lo, __global uchar* y_, ulong yo, Problem p
#define SCORE(k, stage) \
  score(q_ + qo, k_ + ko, mask_ == 0 ? 0 : mask_ + mo, b * p.k_batch + kv * p.k_head + (k) * p.k_row, q_at, m_at + (k) * p.m_key, stage, p)

#ifdef KERNEL_attend
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void attend(ARGUMENTS) {
  __local TX lanes[LANES], weights[LANES];
  ROW
  const int lane = get_local_id(0);
  for (long first = 0; first < p.value_width; first += LANES * COLUMNS) {
    TX sums[COLUMNS], top = -INFINITY, total = 0;
    for (int c = 0; c < COLUMNS; ++c) sums[c] = 0;
    for (long k0 = begin; k0 < end; k0 += LANES) {
      const int count = (int)min((long)LANES, end - k0);
      const TX mine = lane < count ? SCORE(k0 + lane, 2) : -INFINITY;
      const TX next = fmax(top, group_fold(lanes, mine, 1)), factor = next == top ? (TX)1 : exp(top - next);
      const TX weight = mine == -INFINITY ? (TX)0 : exp(mine - next);
      weights[lane] = weight;
      total = total * factor + group_fold(lanes, weight, 0);
      top = next;
      for (int c = 0; c < COLUMNS; ++c) {
        const long column = first + lane + c * LANES;
        if (column >= p.value_width) break;
        TX sum = sums[c] * factor;
        const long from = b * p.v_batch + kv * p.v_head + k0 * p.v_row + column;
        for (int k = 0; k < count; ++k) sum += weights[k] * (TX)GET_V(v_ + vo, from + k * p.v_row);
        sums[c] = sum;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int c = 0; c < COLUMNS; ++c) {
      const long column = first + lane + c * LANES;
      // A row without a key to attend to is 0.
      if (column < p.value_width) PUT_Y(y_ + yo, b * p.y_batch + h * p.y_head + i * p.y_row + column, total == 0 ? (TX)0 : sums[c] / total);
    }
  }
}
#endif

#ifdef KERNEL_attend_row
// For processors: a work item a query row, of at most MOST_VALUES results, in loops of constant length that become vectors.
__kernel void attend_row(ARGUMENTS) {
  TX weights[STEP], sums[MOST_VALUES], top = -INFINITY, total = 0;
  ROW
  for (int c = 0; c < p.value_width; ++c) sums[c] = 0;
  for (long k0 = begin; k0 < end; k0 += STEP) {
    const int count = (int)min((long)STEP, end - k0);
    TX next = top;
    for (int k = 0; k < count; ++k) {
      weights[k] = SCORE(k0 + k, 2);
      next = fmax(next, weights[k]);
    }
    for (int k = count; k < STEP; ++k) weights[k] = -INFINITY;
    if (next != top) {
      const TX factor = exp(top - next);
      total *= factor;
      for (int c = 0; c < p.value_width; ++c) sums[c] *= factor;
      top = next;
    }
    for (int k = 0; k < STEP; ++k) weights[k] = weights[k] == -INFINITY ? (TX)0 : EXP(weights[k] - top);
    for (int k = 0; k < count; ++k) {
      const long from = b * p.v_batch + kv * p.v_head + (k0 + k) * p.v_row;
      total += weights[k];
      int c = 0;
      for (; c + STEP <= p.value_width; c += STEP) {
        for (int j = 0; j < STEP; ++j) sums[c + j] += weights[k] * (TX)GET_V(v_ + vo, from + c + j);
      }
      for (; c < p.value_width; ++c) sums[c] += weights[k] * (TX)GET_V(v_ + vo, from + c);
    }
  }
  const long to = b * p.y_batch + h * p.y_head + i * p.y_row;
  for (int c = 0; c < p.value_width; ++c) PUT_Y(y_ + yo, to + c, total == 0 ? (TX)0 : sums[c] / total);
}
#endif

#ifdef KERNEL_capture
// Scores after a stage; 3: the softmax.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void capture(ARGUMENTS) {
  __local TX lanes[LANES];
  ROW
  const int lane = get_local_id(0);
  const long row = ((b * p.q_heads + h) * p.queries + i) * p.keys;
  TX top = -INFINITY, total = 0;
  if (p.stage == 3) {
    for (long k = begin + lane; k < end; k += LANES) top = fmax(top, SCORE(k, 2));
    top = group_fold(lanes, top, 1);
    for (long k = begin + lane; k < end; k += LANES) total += top == -INFINITY ? (TX)0 : exp(SCORE(k, 2) - top);
    total = group_fold(lanes, total, 0);
  }
  for (long k = lane; k < p.keys; k += LANES) {
    const int seen = k >= begin && k < end;
    TX value = p.stage == 3 ? (TX)0 : -INFINITY;
    if (p.stage < 2 || (seen && p.stage == 2)) value = SCORE(k, p.stage);
    if (p.stage == 3 && seen && total != 0) value = exp(SCORE(k, 2) - top) / total;
    PUT_C(y_ + yo, row + k, value);
  }
}
#endif
