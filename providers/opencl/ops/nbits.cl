// Products with weights of 2, 4 or 8 bits in blocks, each with a scale and a zero point. A group of LANES work items computes PER
// rows of one column; neighbouring items read neighbouring bytes of the weights.
typedef struct { long rows, k, n, blocks, block_bytes, zero_row_bytes; int block_shift, packed_zeros; } Sizes;

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void multiply(__global uchar* a_, ulong ao, __global uchar* codes_, ulong co, __global uchar* scales_, ulong so, __global uchar* zeros_,
              ulong zo, __global uchar* bias_, ulong bo, __global uchar* y_, ulong yo, Sizes s) {
  __local float lanes[PER][LANES];
  const int lane = get_local_id(0);
  const long n = get_group_id(0), first = (long)get_group_id(1) * PER, last = s.rows - 1;
  __global const uchar* codes = AT(const uchar, codes_, co) + n * s.blocks * s.block_bytes;
  float sum[PER];
  for (int p = 0; p < PER; ++p) sum[p] = 0;
  for (long byte = lane; byte < s.blocks * s.block_bytes; byte += LANES) {
    const long block = byte >> s.block_shift, k0 = byte * CODES;
    const float scale = GET_A(scales_ + so, n * s.blocks + block);
    float zero = 1 << (BITS - 1);
    if (zeros_ != 0) {
      const long bit = block * BITS;
      zero = s.packed_zeros ? (float)((AT(const uchar, zeros_, zo)[n * s.zero_row_bytes + bit / 8] >> (bit % 8)) & ((1 << BITS) - 1))
                            : GET_A(zeros_ + zo, n * s.blocks + block);
    }
    const int packed = codes[byte];
    for (int c = 0; c < CODES && k0 + c < s.k; ++c) {
      const float w = ((float)((packed >> (c * BITS)) & ((1 << BITS) - 1)) - zero) * scale;
      for (int p = 0; p < PER; ++p) sum[p] += w * GET_A(a_ + ao, min(first + p, last) * s.k + k0 + c);
    }
  }
  for (int p = 0; p < PER; ++p) lanes[p][lane] = sum[p];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = LANES / 2; width > 0; width /= 2) {
    if (lane < width) {
      for (int p = 0; p < PER; ++p) lanes[p][lane] += lanes[p][lane + width];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane < PER && first + lane < s.rows) {
    PUT_A(y_ + yo, (first + lane) * s.n + n, lanes[lane][0] + (bias_ != 0 ? GET_A(bias_ + bo, n) : 0.0f));
  }
}
