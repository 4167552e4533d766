// Losses of class scores [N, C, inner] at labels that the host has checked; a negative one does not count.

#ifdef KERNEL_loss
// One work item computes one position's loss: as a result, or, where they are combined, as a number to add.
__kernel void loss(ulong total, __global uchar* x_, ulong xo, __global uchar* labels_, ulong lo, __global uchar* weights_, ulong wo,
                   __global uchar* y_, ulong yo, __global uchar* logarithms_, ulong go, long classes, long inner, int combined) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long label = AT(const long, labels_, lo)[i], first = (long)i / inner * classes * inner + (long)i % inner;
  TX normalizer = 0;
#ifdef SOFTMAX
  TX top = -INFINITY, sum = 0;
  for (long c = 0; c < classes; ++c) top = fmax(top, GET_X(x_ + xo, first + c * inner));
  for (long c = 0; c < classes; ++c) sum += exp(GET_X(x_ + xo, first + c * inner) - top);
  normalizer = top + log(sum);
  if (logarithms_ != 0) {
    for (long c = 0; c < classes; ++c) PUT_X(logarithms_ + go, first + c * inner, GET_X(x_ + xo, first + c * inner) - normalizer);
  }
#endif
  TX value = 0;
  if (label >= 0) {
    value = normalizer - GET_X(x_ + xo, first + label * inner);
    if (weights_ != 0) value *= GET_X(weights_ + wo, label);
  }
  if (combined) {
    AT(TX, y_, yo)[i] = value;
  } else {
    PUT_X(y_ + yo, i, value);
  }
}
#endif

#ifdef KERNEL_combine
GROUP_FOLD(TX)

// One group adds all, and divides by the weights where the mean is asked for.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void combine(__global uchar* losses_, ulong so, __global uchar* labels_, ulong lo, __global uchar* weights_, ulong wo, __global uchar* y_,
             ulong yo, long count, int mean) {
  __local TX lanes[LANES];
  TX sum = 0, weight = 0;
  for (long i = get_local_id(0); i < count; i += LANES) {
    const long label = AT(const long, labels_, lo)[i];
    sum += AT(const TX, losses_, so)[i];
    if (label >= 0) weight += weights_ != 0 ? GET_X(weights_ + wo, label) : (TX)1;
  }
  sum = group_fold(lanes, sum, 0);
  weight = group_fold(lanes, weight, 0);
  if (get_local_id(0) == 0) PUT_X(y_ + yo, 0, mean ? sum / weight : sum);
}
#endif
