// Scaled dot-product attention; in `attend`, a group of LANES work items has a query row. The softmax is carried along from keys to
// keys (running maximum and sum), so that scores never leave local memory.
typedef struct {
  long batch, q_heads, kv_heads, queries, keys, width, value_width;
  long q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, y_batch, y_head, y_row;
  long m_batch, m_head, m_row, m_key, m_keys, offset, left, right;
  int causal, stage;
  float scale, softcap, nothing;
  int slices;
} Problem;

GROUP_FOLD(TX)
#ifdef FLOAT_X
#define saturated_tanh tanh_float
#else
#define saturated_tanh tanh_double
#endif

// The keys [x, y) that query i of batch b sees.
static inline long2 seen_by(long i, long b, __global const long* lengths, int masked, Problem p) {
  long begin = 0, end = p.keys, at = i + p.offset;
  if (lengths != 0) {
    end = min(end, lengths[b]);
    at = i + lengths[b] - p.queries;
  }
  if (p.causal) end = min(end, at + 1);
  if (p.right >= 0 && p.right < p.keys) end = min(end, at + p.right + 1);
  if (p.left >= 0 && p.left < at) begin = at - p.left;
  if (masked) end = min(end, p.m_keys);
  end = max(end, 0L);
  return (long2)(min(begin, end), end);
}
#define SEEN_BY(row) seen_by(row, b, lengths_ == 0 ? 0 : AT(const long, lengths_, lo), mask_ != 0, p)

// Where query `row` of this group's head is, and the keys [begin, end) that it sees.
#define ROW(row)                                                                                                  \
  const long i = row, b = get_group_id(2) / p.q_heads, h = get_group_id(2) % p.q_heads;                           \
  const long kv = h / (p.q_heads / p.kv_heads);                                                                   \
  const long2 seen_ = slice_of(SEEN_BY(i), get_group_id(1), p);                                                   \
  const long begin = seen_.x, end = seen_.y;                                                                      \
  const long q_at = b * p.q_batch + h * p.q_head + i * p.q_row, m_at = b * p.m_batch + h * p.m_head + i * p.m_row;

// Few rows of many keys: the second dimension has slices of the keys, of which each leaves the sums, the maximum and the sum of the weights
// in `parts`, for `join_slices`.
#define PART(i) \
  ((__global TX*)(parts_ + po) + ((get_group_id(2) * p.queries + (i)) * p.slices + get_group_id(1)) * (p.value_width + 2))
static inline long2 slice_of(long2 seen, long slice, Problem p) {
  const long length = (seen.y - seen.x + p.slices - 1) / p.slices, first = min(seen.x + slice * length, seen.y);
  return (long2)(first, min(first + length, seen.y));
}

// A product of a query and a key after `stage`: 0 the product, 1 the soft cap, 2 the mask.
static inline TX staged(TX sum, __global uchar* mask, long m_at, int stage, Problem p) {
  sum *= p.scale;
  if (stage >= 1 && p.softcap > 0) sum = p.softcap * saturated_tanh(sum / p.softcap);
  if (stage >= 2 && mask != 0) {
#ifdef MASKS
    if (!GET_M(mask, m_at)) sum = -INFINITY;
#else
    sum += (TX)GET_M(mask, m_at);
#endif
  }
  return sum;
}

// The score of a key after `stage`.
static inline TX score(__global uchar* q, __global uchar* k, __global uchar* mask, long k_at, long q_at, long m_at, int stage, Problem p) {
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
  return staged(sum, mask, m_at, stage, p);
}

#define ARGUMENTS                                                                                                 \
  __global uchar* q_, ulong qo, __global uchar* k_, ulong ko, __global uchar* v_, ulong vo, __global uchar* mask_, ulong mo, \
      __global uchar* lengths_, ulong lo, __global uchar* y_, ulong yo, __global uchar* parts_, ulong po, Problem p
#define SCORE(k, stage) \
  score(q_ + qo, k_ + ko, mask_ == 0 ? 0 : mask_ + mo, b * p.k_batch + kv * p.k_head + (k) * p.k_row, q_at, m_at + (k) * p.m_key, stage, p)

#ifdef KERNEL_attend
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void attend(ARGUMENTS) {
  __local TX lanes[LANES], weights[LANES];
  ROW(get_group_id(0))
  const int lane = get_local_id(0);
  for (long first = 0; first < p.value_width; first += LANES * COLUMNS) {
    TX acc[COLUMNS], top = -INFINITY, total = 0;
    for (int c = 0; c < COLUMNS; ++c) acc[c] = 0;
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
        TX sum = acc[c] * factor;
        const long from = b * p.v_batch + kv * p.v_head + k0 * p.v_row + column;
        for (int k = 0; k < count; ++k) sum += weights[k] * (TX)GET_V(v_ + vo, from + k * p.v_row);
        acc[c] = sum;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int c = 0; c < COLUMNS; ++c) {
      const long column = first + lane + c * LANES;
      if (column >= p.value_width) break;
      if (p.slices > 1) {
        PART(i)[column] = acc[c];
      } else {  // a row without a key to attend to is 0
        PUT_Y(y_ + yo, b * p.y_batch + h * p.y_head + i * p.y_row + column, total == 0 ? (TX)p.nothing : acc[c] / total);
      }
    }
    if (p.slices > 1 && first == 0 && lane == 0) PART(i)[p.value_width] = top, PART(i)[p.value_width + 1] = total;
  }
}
#endif

#ifdef KERNEL_attend_tile
// For GPUs: a group has QUERIES rows of queries, of PARTS work items each, and KEYS keys and values at a time in local memory. Rows are
// WIDTH elements long, zeros at the end. A work item scores every PARTS-th key and sums every PARTS-th vector of the results of its row.
#define STRIDE (WIDTH + 4)  // rows begin in different banks
#define FILL(tile, rows, inside, ELEMENT, width)                                                                  \
  for (int e = item; e < rows * WIDTH; e += QUERIES * PARTS) {                                                    \
    const int line = e / WIDTH, column = e % WIDTH;                                                               \
    tile[line][column] = (inside) && column < width ? (TX)(ELEMENT) : (TX)0;                                      \
  }
__kernel __attribute__((reqd_work_group_size(QUERIES * PARTS, 1, 1))) void attend_tile(ARGUMENTS) {
  __local TX queries[QUERIES][STRIDE] __attribute__((aligned(16)));
  __local TX keys[KEYS][STRIDE] __attribute__((aligned(16)));
  __local TX values[KEYS][STRIDE] __attribute__((aligned(16)));
  __local TX weights[QUERIES][KEYS + 4], parts[QUERIES][PARTS];
  const int item = get_local_id(0), row = item / PARTS, part = item % PARTS;
  const long first = (long)get_group_id(0) * QUERIES, last = min(first + QUERIES, p.queries) - 1;
  ROW(min(first + row, last))
  const long first_key = SEEN_BY(first).x, past_keys = SEEN_BY(last).y;  // of all rows: later ones see no less
  FILL(queries, QUERIES, first + line <= last, GET_Q(q_ + qo, b * p.q_batch + h * p.q_head + (first + line) * p.q_row + column), p.width)
  TX4 acc[WIDTH / 4 / PARTS];
#pragma unroll
  for (int j = 0; j < WIDTH / 4 / PARTS; ++j) acc[j] = 0;
  TX top = -INFINITY, total = 0;
  for (long k0 = first_key; k0 < past_keys; k0 += KEYS) {
    FILL(keys, KEYS, k0 + line < p.keys, GET_K(k_ + ko, b * p.k_batch + kv * p.k_head + (k0 + line) * p.k_row + column), p.width)
    FILL(values, KEYS, k0 + line < p.keys, GET_V(v_ + vo, b * p.v_batch + kv * p.v_head + (k0 + line) * p.v_row + column), p.value_width)
    barrier(CLK_LOCAL_MEM_FENCE);
    TX scores[KEYS / PARTS], most = -INFINITY;
#pragma unroll
    for (int j = 0; j < KEYS / PARTS; ++j) scores[j] = 0;
#pragma unroll 4
    for (int c = 0; c < WIDTH; c += 4) {
      const TX4 query = *(__local const TX4*)&queries[row][c];
#pragma unroll
      for (int j = 0; j < KEYS / PARTS; ++j) {
        const TX4 key = *(__local const TX4*)&keys[part + j * PARTS][c];
        scores[j] += query.x * key.x;
        scores[j] += query.y * key.y;
        scores[j] += query.z * key.z;
        scores[j] += query.w * key.w;
      }
    }
#pragma unroll
    for (int j = 0; j < KEYS / PARTS; ++j) {
      const long k = k0 + part + j * PARTS;
      scores[j] = k >= begin && k < end ? staged(scores[j], mask_ == 0 ? 0 : mask_ + mo, m_at + k * p.m_key, 2, p) : -INFINITY;
      most = fmax(most, scores[j]);
    }
    parts[row][part] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    TX next = top;
    for (int other = 0; other < PARTS; ++other) next = fmax(next, parts[row][other]);
    const TX factor = next == top ? (TX)1 : exp(top - next);
    total *= factor;
#pragma unroll
    for (int j = 0; j < KEYS / PARTS; ++j) {
      const TX weight = scores[j] == -INFINITY ? (TX)0 : exp(scores[j] - next);
      weights[row][part + j * PARTS] = weight;
      total += weight;
    }
    top = next;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int j = 0; j < WIDTH / 4 / PARTS; ++j) acc[j] *= factor;
#pragma unroll 8
    for (int k = 0; k < KEYS; ++k) {
      const TX weight = weights[row][k];
#pragma unroll
      for (int j = 0; j < WIDTH / 4 / PARTS; ++j) acc[j] += weight * *(__local const TX4*)&values[k][(part + j * PARTS) * 4];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  parts[row][part] = total;
  barrier(CLK_LOCAL_MEM_FENCE);
  total = 0;
  for (int other = 0; other < PARTS; ++other) total += parts[row][other];
  if (first + row > last) return;
  const long to = b * p.y_batch + h * p.y_head + i * p.y_row;
  // A row without a key to attend to is 0.
  const TX scale = total == 0 ? (TX)p.nothing : 1 / total;
  for (int j = 0; j < WIDTH / 4 / PARTS; ++j) {
    const TX results[4] = {acc[j].x, acc[j].y, acc[j].z, acc[j].w};
    for (int c = 0; c < 4; ++c) {
      const int column = (part + j * PARTS) * 4 + c;
      if (column < p.value_width) PUT_Y(y_ + yo, to + column, results[c] * scale);
    }
  }
}
#endif

#ifdef KERNEL_attend_row
// For processors: a work item a query row, of at most MOST_VALUES results, in loops of constant length that become vectors.
__kernel void attend_row(ARGUMENTS) {
  TX weights[STEP], acc[MOST_VALUES], top = -INFINITY, total = 0;
  ROW(get_group_id(0))
  for (int c = 0; c < p.value_width; ++c) acc[c] = 0;
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
      for (int c = 0; c < p.value_width; ++c) acc[c] *= factor;
      top = next;
    }
    for (int k = 0; k < STEP; ++k) weights[k] = weights[k] == -INFINITY ? (TX)0 : EXP(weights[k] - top);
    for (int k = 0; k < count; ++k) {
      const long from = b * p.v_batch + kv * p.v_head + (k0 + k) * p.v_row;
      total += weights[k];
      int c = 0;
      for (; c + STEP <= p.value_width; c += STEP) {
        for (int j = 0; j < STEP; ++j) acc[c + j] += weights[k] * (TX)GET_V(v_ + vo, from + c + j);
      }
      for (; c < p.value_width; ++c) acc[c] += weights[k] * (TX)GET_V(v_ + vo, from + c);
    }
  }
  if (p.slices > 1) {
    __global TX* part = PART(i);
    for (int c = 0; c < p.value_width; ++c) part[c] = acc[c];
    part[p.value_width] = top;
    part[p.value_width + 1] = total;
    return;
  }
  const long to = b * p.y_batch + h * p.y_head + i * p.y_row;
  for (int c = 0; c < p.value_width; ++c) PUT_Y(y_ + yo, to + c, total == 0 ? (TX)p.nothing : acc[c] / total);
}
#endif

#ifdef KERNEL_attend_rows
// For processors: an item has up to ROWS query rows, DOWN of them at a time, and STEP keys, element after element of all of them, so that
// scores become vectors too. Rows have at most MOST_VALUES elements.
#define INLINE static inline __attribute__((always_inline))

// The largest of 16 numbers, none of which NaN is, and their sum.
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define FOLD(name, OF)                                       \
  INLINE TX name(TX16 all) {                                 \
    const TX8 half_of = OF(all.lo, all.hi);                  \
    const TX4 fourth = OF(half_of.lo, half_of.hi);           \
    return OF(OF(fourth.x, fourth.y), OF(fourth.z, fourth.w)); \
  }
#define PLUS(a, b) ((a) + (b))
FOLD(largest, LARGER)
FOLD(sum_of, PLUS)

// The scores of STEP keys, of which `count` are there, after scale, cap and mask; nothing of those outside of [begin, end).
INLINE TX16 finish_scores(TX16 acc, __global const uchar* mask, long m_at, long k0, int count, long begin, long end, Problem p) {
  TX scores[STEP];
  vstore16(acc * p.scale, 0, scores);
  if (p.softcap > 0) {
    for (int k = 0; k < STEP; ++k) scores[k] = p.softcap * saturated_tanh(scores[k] / p.softcap);
  }
  if (mask != 0) {
    for (int k = 0; k < count; ++k) {
#ifdef MASKS
      scores[k] = GET_M(mask, m_at + (k0 + k) * p.m_key) ? scores[k] : -INFINITY;
#else
      scores[k] += (TX)GET_M(mask, m_at + (k0 + k) * p.m_key);
#endif
    }
  }
  if (k0 < begin || k0 + STEP > end) {
    for (int k = 0; k < STEP; ++k) scores[k] = k0 + k >= begin && k0 + k < end ? scores[k] : -INFINITY;
  }
  return vload16(0, scores);
}

// What a slice, or a whole row, carries from keys to keys: results of `wide` elements, the running maximum and sum of each row.
#define ROWS_SO_FAR const int wide, TX *acc, TX *tops, TX *totals

// Takes the scores of STEP keys into row `at`, whose weights they become.
INLINE void take_scores(TX16 score, int at, TX* weights, ROWS_SO_FAR) {
  TX next = largest(score), weight[STEP];
  next = fmax(next, tops[at]);
  if (next != tops[at]) {
    const TX factor = EXP(tops[at] - next);
    totals[at] *= factor;
    for (int c = 0; c < wide; ++c) acc[at * wide + c] *= factor;
    tops[at] = next;
  }
  vstore16(score, 0, weight);
  for (int k = 0; k < STEP; ++k) weight[k] = weight[k] == -INFINITY ? (TX)0 : EXP(weight[k] - next);
  vstore16(vload16(0, weight), at, weights);
  totals[at] += sum_of(vload16(0, weight));
}

// Adds `count` values by their weights to DOWN rows from `row`.
INLINE void add_values(int row, int count, int wide, const TX* values, const TX* weights, TX* acc) {
  for (int c = 0; c < wide; c += STEP) {
    TX16 sum[DOWN];
#pragma unroll
    for (int r = 0; r < DOWN; ++r) sum[r] = vload16(0, acc + (row + r) * wide + c);
    for (int k = 0; k < count; ++k) {
      const TX16 value = vload16(0, values + k * wide + c);
#pragma unroll
      for (int r = 0; r < DOWN; ++r) sum[r] += weights[(row + r) * STEP + k] * value;
    }
#pragma unroll
    for (int r = 0; r < DOWN; ++r) vstore16(sum[r], 0, acc + (row + r) * wide + c);
  }
}

// The results of row `at`, which begin at y[to], or what its slice leaves in `part`.
INLINE void put_row(int at, __global TX* part, __global uchar* y, long to, Problem p, ROWS_SO_FAR) {
  if (p.slices > 1) {
    for (int c = 0; c < p.value_width; ++c) part[c] = acc[at * wide + c];
    part[p.value_width] = tops[at];
    part[p.value_width + 1] = totals[at];
    return;
  }
  const TX scale = totals[at] == 0 ? (TX)0 : 1 / totals[at];
  for (int c = 0; c < p.value_width; ++c) PUT_Y(y, to + c, totals[at] == 0 ? (TX)p.nothing : acc[at * wide + c] * scale);
}

__kernel void attend_rows(ARGUMENTS) {
  TX queries[ROWS * MOST_VALUES], acc[ROWS * MOST_VALUES], keys[STEP * MOST_VALUES], values[STEP * MOST_VALUES], weights[ROWS * STEP], tops[ROWS], totals[ROWS];
  long2 seen[ROWS];
  const long first = get_group_id(0) * (long)ROWS, b = get_group_id(2) / p.q_heads, h = get_group_id(2) % p.q_heads, kv = h / (p.q_heads / p.kv_heads);
  const int rows = (int)min((long)ROWS, p.queries - first), width = (int)p.width;
  const int wide = (int)(p.value_width + STEP - 1) / STEP * STEP;  // zeros at the end
  long begin = p.keys, end = 0;
  for (int r = 0; r < ROWS; ++r) {  // those past the last one as the last one
    const long i = first + min(r, rows - 1), from = b * p.q_batch + h * p.q_head + i * p.q_row;
    if (r >= (rows + DOWN - 1) / DOWN * DOWN) break;
    seen[r] = SEEN_BY(i);
    begin = min(begin, seen[r].x);
    end = max(end, seen[r].y);
    tops[r] = -INFINITY;
    totals[r] = 0;
    for (int c = 0; c < width; ++c) queries[r * width + c] = (TX)GET_Q(q_ + qo, from + c);
    for (int c = 0; c < wide; ++c) acc[r * wide + c] = 0;
  }
  const long2 slice = slice_of((long2)(min(begin, end), end), get_group_id(1), p);
  begin = slice.x;
  end = slice.y;
  for (int r = 0; r < rows; ++r) seen[r] = (long2)(max(seen[r].x, begin), min(seen[r].y, end));
  for (long k0 = begin; k0 < end; k0 += STEP) {
    const int count = (int)min((long)STEP, end - k0);
    for (int k = 0; k < STEP; ++k) {
      const long from = b * p.k_batch + kv * p.k_head + (k0 + min(k, count - 1)) * p.k_row;
      for (int c = 0; c < width; ++c) keys[c * STEP + k] = (TX)GET_K(k_ + ko, from + c);
    }
    for (int row = 0; row < rows; row += DOWN) {
      TX16 scores[DOWN];
#pragma unroll
      for (int r = 0; r < DOWN; ++r) scores[r] = 0;
      for (int c = 0; c < width; ++c) {
        const TX16 key = vload16(c, keys);
#pragma unroll
        for (int r = 0; r < DOWN; ++r) scores[r] += queries[(row + r) * width + c] * key;
      }
#pragma unroll
      for (int r = 0; r < DOWN; ++r) {
        const int at = row + r;
        const long m_at = b * p.m_batch + h * p.m_head + (first + min(at, rows - 1)) * p.m_row;
        const TX16 score = finish_scores(scores[r], mask_ == 0 ? 0 : mask_ + mo, m_at, k0, count, seen[at].x, seen[at].y, p);
        take_scores(score, at, weights, wide, acc, tops, totals);
      }
    }
    for (int k = 0; k < count; ++k) {
      const long from = b * p.v_batch + kv * p.v_head + (k0 + k) * p.v_row;
      for (int c = 0; c < p.value_width; ++c) values[k * wide + c] = (TX)GET_V(v_ + vo, from + c);
      for (int c = (int)p.value_width; c < wide; ++c) values[k * wide + c] = 0;
    }
    for (int row = 0; row < rows; row += DOWN) add_values(row, count, wide, values, weights, acc);
  }
  for (int r = 0; r < rows; ++r) {
    put_row(r, PART(first + r), y_ + yo, b * p.y_batch + h * p.y_head + (first + r) * p.y_row, p, wide, acc, tops, totals);
  }
}
#endif

#ifdef KERNEL_join_slices
// Element after element of a row, rows in the second dimension, heads in the third.
__kernel void join_slices(ulong total, __global uchar* parts_, ulong po, __global uchar* y_, ulong yo, Problem p) {
  const long column = get_global_id(0), i = get_global_id(1), b = get_global_id(2) / p.q_heads, h = get_global_id(2) % p.q_heads;
  if ((ulong)column >= total) return;
  const long size = p.value_width + 2;
  __global const TX* parts = (__global const TX*)(parts_ + po) + (get_global_id(2) * p.queries + i) * p.slices * size;
  TX top = -INFINITY, sum = 0, weights = 0;
  for (int s = 0; s < p.slices; ++s) top = fmax(top, parts[s * size + p.value_width]);
  for (int s = 0; s < p.slices; ++s) {
    const TX here = parts[s * size + p.value_width], factor = here == top ? (TX)1 : here == -INFINITY ? (TX)0 : exp(here - top);
    sum += factor * parts[s * size + column];
    weights += factor * parts[s * size + p.value_width + 1];
  }
  PUT_Y(y_ + yo, b * p.y_batch + h * p.y_head + i * p.y_row + column, weights == 0 ? (TX)p.nothing : sum / weights);
}
#endif

#ifdef KERNEL_capture
// Scores after a stage; 3: the softmax.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void capture(ARGUMENTS) {
  __local TX lanes[LANES];
  ROW(get_group_id(0))
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
