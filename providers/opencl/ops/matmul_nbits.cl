// GEMM with weights of 2, 4 or 8 bits, after matmul_nbits_weights.cl: of few rows; of many there are panel_gemm.cl and tile_gemm.cl.

#ifdef KERNEL_pack_quantized
// Rows of bytes along k to panels of COLUMNS columns, byte after byte of each. An item packs PACK_ROWS bytes of a panel's columns.
__kernel void pack_quantized(__global uchar* quantized_, ulong co, __global uchar* y_, ulong yo, int row_bytes, int n) {
  const int first = get_global_id(0) * PACK_ROWS, count = min(PACK_ROWS, row_bytes - first), column = get_global_id(1) * COLUMNS;
  __global uchar* to = y_ + yo + ((long)get_global_id(1) * row_bytes + first) * COLUMNS;
  for (int j = 0; j < COLUMNS; ++j) {
    __global const uchar* from = quantized_ + co + (long)min(column + j, n - 1) * row_bytes + first;
    for (int i = 0; i < count; ++i) to[i * COLUMNS + j] = from[i];
  }
}
#endif

#if defined(KERNEL_pack_scales) || defined(KERNEL_pack_zeros)
#ifdef KERNEL_pack_scales
#define VALUE(line, block, blocks) GET_X(x_ + xo, (line) * blocks + block)
#else
#define VALUE(line, block, blocks) zero_point(x_ + xo, line, block, blocks)
#endif
// Those of columns to panels of COLUMNS columns, as floats. An item packs a panel.
#ifdef KERNEL_pack_scales
__kernel void pack_scales(
#else
__kernel void pack_zeros(
#endif
    __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, int blocks, int n) {
  const int column = get_global_id(0) * COLUMNS;
  __global float* to = AT(float, y_, yo) + (long)get_global_id(0) * blocks * COLUMNS;
  for (int j = 0; j < COLUMNS; ++j) {
    const long line = min(column + j, n - 1);
    for (int block = 0; block < blocks; ++block) to[block * COLUMNS + j] = VALUE(line, block, blocks);
  }
}
#endif

// A column of many blocks is computed in slices of `blocks_of_slice`, in the third dimension, whose sums lie in `parts_`: [slice, row, column];
// gemm/slice_sums.cl adds them.
#ifdef KERNEL_one_row
#define TOGETHER 4  // quantized values of a column, in accumulators of their own: they need not wait for each other
// For processors. A row, in the second dimension, times a panel.
__kernel void one_row(__global uchar* a_, ulong ao, __global uchar* quantized_, ulong co, __global uchar* bias_, ulong bo, __global uchar* y_, ulong yo,
                      __global uchar* parts_, ulong po, int rows, int k, int n, int blocks_of_slice EPILOGUE_PARAMETERS) {
  const int panel = get_global_id(0), column = panel * COLUMNS, blocks = (k - 1) / BLOCK + 1, width = min(COLUMNS, n - column);
  const int begin = get_global_id(2) * blocks_of_slice, stop = min(begin + blocks_of_slice, blocks);
  const long row = get_global_id(1);
  __global const uchar* from = quantized_ + co + ((long)panel * blocks + begin) * (BLOCK / PER_BYTE) * COLUMNS;
  float16 total = 0;
  for (int block = begin; block < stop; ++block) {
    const float16 zero = ZEROS_OF(panel, block, k);
    const int first = block * BLOCK, end = min(first + BLOCK, k);
    float16 sum[TOGETHER] = {0, 0, 0, 0};
    for (int step = first; step < end; step += TOGETHER, from += TOGETHER / PER_BYTE * COLUMNS) {
#pragma unroll
      for (int c = 0; c < TOGETHER; ++c) {
        const float left = step + c < end ? GET_X(a_ + ao, row * k + step + c) : 0.0f;
        sum[c] += left * CENTERED(vload16(c / PER_BYTE, from), c % PER_BYTE, zero);
      }
    }
    total += scales_of(scales_ + so, panel, block, k) * (sum[0] + sum[1] + (sum[2] + sum[3]));
  }
  float results[COLUMNS];
  vstore16(total, 0, results);
  if (parts_ != 0) {
    __global float* parts = AT(float, parts_, po) + (get_global_id(2) * rows + row) * n + column;
    for (int j = 0; j < width; ++j) parts[j] = results[j];
    return;
  }
  for (int j = 0; j < width; ++j) PUT_X(y_ + yo, row * n + column + j, results[j] + (bias_ != 0 ? GET_X(bias_ + bo, column + j) : 0.0f));
}
#endif

#ifdef KERNEL_few_rows
#define PER_UINT (4 * PER_BYTE)  // quantized values of an item at a time, of one block
// For GPUs. A group of LANES work items computes PER rows of one column; neighbouring items read neighbours in memory.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void few_rows(__global uchar* a_, ulong ao, __global uchar* quantized_, ulong co, __global uchar* bias_, ulong bo, __global uchar* y_, ulong yo,
              __global uchar* parts_, ulong po, int rows, int k, int n, int blocks_of_slice EPILOGUE_PARAMETERS) {
  __local float lanes[PER][LANES];
  const int lane = get_local_id(0), first = get_group_id(1) * PER, blocks = (k - 1) / BLOCK + 1;
  const long column = get_group_id(0);
  __global const uchar* quantized = quantized_ + co + column * blocks * (BLOCK / PER_BYTE);
  float sum[PER];
#pragma unroll
  for (int p = 0; p < PER; ++p) sum[p] = 0;
  const int begin = get_group_id(2) * blocks_of_slice * BLOCK, stop = (int)min((long)k, begin + (long)blocks_of_slice * BLOCK);
  for (int step = begin + lane * PER_UINT; step < stop; step += LANES * PER_UINT) {
    const int block = step / BLOCK;
    const float scale = GET_X(scales_ + so, column * blocks + block), zero = zero_point(zeros_ + zo, column, block, blocks);
    const uint packed_values = as_uint(vload4(step / PER_UINT, quantized));
    const int inside = min(PER_UINT, k - step);
#pragma unroll
    for (int c = 0; c < PER_UINT; ++c) {
      const float weight = ((float)((packed_values >> (c * BITS)) & ((1u << BITS) - 1u)) - zero) * scale;
      if (c < inside) {
#pragma unroll
        for (int p = 0; p < PER; ++p) sum[p] += weight * GET_X(a_ + ao, (long)min(first + p, rows - 1) * k + step + c);
      }
    }
  }
#pragma unroll
  for (int p = 0; p < PER; ++p) lanes[p][lane] = sum[p];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = LANES / 2; width > 0; width /= 2) {
    if (lane < width) {
      for (int p = 0; p < PER; ++p) lanes[p][lane] += lanes[p][lane + width];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane < PER && first + lane < rows) {
    if (parts_ != 0) {
      AT(float, parts_, po)[((long)get_group_id(2) * rows + first + lane) * n + column] = lanes[lane][0];
      return;
    }
    PUT_X(y_ + yo, (long)(first + lane) * n + column, lanes[lane][0] + (bias_ != 0 ? GET_X(bias_ + bo, column) : 0.0f));
  }
}
#endif
