// Softmax, LayerNormalization: one group of LANES work items a row. BatchNormalization: one work item an element.
#define AT(type, buffer, offset) ((__global type*)((__global uchar*)(buffer) + (offset)))

float reduce(__local float* lanes, float mine, int maximum) {
  const int lane = get_local_id(0);
  lanes[lane] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_ = LANES / 2; half_ > 0; half_ /= 2) {
    if (lane < half_) lanes[lane] = maximum ? fmax(lanes[lane], lanes[lane + half_]) : lanes[lane] + lanes[lane + half_];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float result = lanes[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}

// Rows of n elements that lie `stride` apart; row r starts at (r / stride) * n * stride + r % stride.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void softmax(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, int n, int stride, int logarithm) {
  __local float lanes[LANES];
  const long row = get_group_id(1), start = row / stride * (long)n * stride + row % stride;
  __global const float* x = AT(float, x_, xo) + start;
  __global float* y = AT(float, y_, yo) + start;
  float top = -INFINITY;
  for (int i = get_local_id(0); i < n; i += LANES) top = fmax(top, x[(long)i * stride]);
  top = reduce(lanes, top, 1);
  float sum = 0;
  for (int i = get_local_id(0); i < n; i += LANES) sum += exp(x[(long)i * stride] - top);
  sum = reduce(lanes, sum, 0);
  for (int i = get_local_id(0); i < n; i += LANES) {
    const float shifted = x[(long)i * stride] - top;
    y[(long)i * stride] = logarithm ? shifted - log(sum) : exp(shifted) / sum;
  }
}

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void layer_norm(__global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* bias_, ulong bo, __global uchar* y_,
                ulong yo, int n, float epsilon) {
  __local float lanes[LANES];
  const long row = get_group_id(1);
  __global const float* x = AT(float, x_, xo) + row * n;
  __global float* y = AT(float, y_, yo) + row * n;
  float sum = 0;
  for (int i = get_local_id(0); i < n; i += LANES) sum += x[i];
  const float mean = reduce(lanes, sum, 0) / n;
  float squares = 0;
  for (int i = get_local_id(0); i < n; i += LANES) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = 1.0f / sqrt(reduce(lanes, squares, 0) / n + epsilon);
  for (int i = get_local_id(0); i < n; i += LANES) {
    float value = (x[i] - mean) * scale * AT(float, scale_, so)[i];
    if (bias_ != 0) value += AT(float, bias_, bo)[i];
    y[i] = value;
  }
}

__kernel void batch_norm(__global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* bias_, ulong bo,
                         __global uchar* mean_, ulong mo, __global uchar* variance_, ulong vo, __global uchar* y_, ulong yo,
                         long plane, long channels, float epsilon) {
  const long i = get_global_id(0), c = i / plane % channels;
  const float scale = AT(float, scale_, so)[c] / sqrt(AT(float, variance_, vo)[c] + epsilon);
  AT(float, y_, yo)[i] = (AT(float, x_, xo)[i] - AT(float, mean_, mo)[c]) * scale + AT(float, bias_, bo)[c];
}
