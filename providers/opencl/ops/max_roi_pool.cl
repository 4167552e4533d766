// One work item finds the maximum of one cell of one channel. Of each region the plan has its image, then where each row and each
// column of cells begins and ends, inside the image.
__kernel void max_roi_pool(ulong total, __global uchar* x_, ulong xo, __global uchar* plan_, ulong po, __global uchar* y_, ulong yo,
                           long channels, long height, long width, long rows, long columns) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long column = (long)i % columns, row = (long)i / columns % rows, plane = (long)i / columns / rows;
  __global const long* plan = AT(const long, plan_, po) + plane / channels * (1 + 2 * rows + 2 * columns);
  __global const long* down = plan + 1 + 2 * row;
  __global const long* along = plan + 1 + 2 * rows + 2 * column;
  const long first = (plan[0] * channels + plane % channels) * height * width;
  TX best = 0;  // of an empty cell
  if (down[0] < down[1] && along[0] < along[1]) best = GET_X(x_ + xo, first + down[0] * width + along[0]);
  for (long r = down[0]; r < down[1]; ++r) {
    for (long c = along[0]; c < along[1]; ++c) {
      const TX value = GET_X(x_ + xo, first + r * width + c);
      best = MAX_OR_NAN(best, value);
    }
  }
  PUT_X(y_ + yo, i, best);
}
