// Where an affine map of each image takes its pixels. One work item computes the coordinates of one point.
typedef struct { long depth, height, width; int axes, align_corners; } Grid;

// Pixel i of n on [-1, 1]; a single pixel lies in the middle.
static inline TX coordinate(long i, long n, int align_corners) {
  if (n == 1) return 0;
  return align_corners ? (TX)(2 * i - (n - 1)) / (TX)(n - 1) : (TX)(2 * i + 1 - n) / (TX)n;
}

__kernel void affine_grid(ulong total, __global uchar* theta_, ulong to, __global uchar* y_, ulong yo, Grid g) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long column = (long)i % g.width, row = (long)i / g.width % g.height, plane = (long)i / g.width / g.height;
  const TX x = coordinate(column, g.width, g.align_corners), y = coordinate(row, g.height, g.align_corners);
  const TX z = coordinate(plane % g.depth, g.depth, g.align_corners);
  for (int axis = 0; axis < g.axes; ++axis) {
    const long matrix_row = (plane / g.depth * g.axes + axis) * (g.axes + 1);
    TX at = GET_X(theta_ + to, matrix_row) * x + GET_X(theta_ + to, matrix_row + 1) * y + GET_X(theta_ + to, matrix_row + g.axes);
    if (g.axes == 3) at += GET_X(theta_ + to, matrix_row + 2) * z;
    PUT_X(y_ + yo, (long)i * g.axes + axis, at);
  }
}
