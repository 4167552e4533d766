// Stands before kernels of operators along one axis. One work item computes one line: n elements, `stride` apart. Line l starts at
// (l / stride) * n * stride + l % stride. Of long lines (kernels named _slices) one computes a slice of `length` elements, and others join what
// they found.
#define ROW_INDEX const ulong row_index = get_global_id(0); if (row_index >= total) return; \
  const long start = (long)row_index / stride * n * stride + (long)row_index % stride;
#define SLICE_INDEX const ulong part = get_global_id(0); if (part >= total) return; \
  const ulong row_index = part / slices; \
  const long from = (long)(part % slices) * length, to = min(n, from + length); \
  const long start = (long)row_index / stride * n * stride + (long)row_index % stride;
#define X(i) GET_X(x_ + xo, start + (i) * stride)
