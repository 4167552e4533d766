// Products of one row, bound by the reading of the matrix. Part of gemm-inl.h.

#include "simd/gemm_tile-inl.h"
#include "simd/load_first-inl.h"

#if defined(TESSERA_GEMM_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GEMM_VECTOR_INL_H
#undef TESSERA_GEMM_VECTOR_INL_H
#else
#define TESSERA_GEMM_VECTOR_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

HWY_INLINE T FinishOne(const GemmArgs<T>& args, T sum, int64_t column) {
  T v = args.alpha * sum;
  if (args.accumulate) v += args.c[column];
  if (args.epilogue.row_bias != nullptr) v += args.epilogue.row_bias[0];
  if (args.epilogue.col_bias != nullptr) v += args.epilogue.col_bias[column];
  if (args.epilogue.residual != nullptr) v += args.epilogue.residual[column];
  if (args.epilogue.activation == GemmActivation::kNone) return v;
  const D full;
  return hn::GetLane(Activate(full, hn::Set(full, v), args.epilogue));
}

/// One row times transposed B: a dot product per column, four columns at a time so that x is loaded once.
void Dots(const GemmArgs<T>& args, int64_t n0, int64_t n1) {
  const D d;
  const int64_t k = args.k;
  int64_t n = n0;
  for (; n + 4 <= n1; n += 4) {
    const T* b0 = args.b + n * args.b_col;
    const T* b1 = b0 + args.b_col;
    const T* b2 = b1 + args.b_col;
    const T* b3 = b2 + args.b_col;
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    int64_t p = 0;
    for (; p + 2 * kLanes <= k; p += 2 * kLanes) {
      const V x0 = hn::LoadU(d, args.a + p);
      const V x1 = hn::LoadU(d, args.a + p + kLanes);
      s0 = hn::MulAdd(x0, hn::LoadU(d, b0 + p), s0);
      s1 = hn::MulAdd(x0, hn::LoadU(d, b1 + p), s1);
      s2 = hn::MulAdd(x0, hn::LoadU(d, b2 + p), s2);
      s3 = hn::MulAdd(x0, hn::LoadU(d, b3 + p), s3);
      t0 = hn::MulAdd(x1, hn::LoadU(d, b0 + p + kLanes), t0);
      t1 = hn::MulAdd(x1, hn::LoadU(d, b1 + p + kLanes), t1);
      t2 = hn::MulAdd(x1, hn::LoadU(d, b2 + p + kLanes), t2);
      t3 = hn::MulAdd(x1, hn::LoadU(d, b3 + p + kLanes), t3);
    }
    for (; p < k; p += kLanes) {
      const int64_t left = std::min<int64_t>(k - p, kLanes);
      const V x = LoadFirst(d, args.a + p, left);
      s0 = hn::MulAdd(x, LoadFirst(d, b0 + p, left), s0);
      s1 = hn::MulAdd(x, LoadFirst(d, b1 + p, left), s1);
      s2 = hn::MulAdd(x, LoadFirst(d, b2 + p, left), s2);
      s3 = hn::MulAdd(x, LoadFirst(d, b3 + p, left), s3);
    }
    const T sums[4] = {hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, t0))), hn::GetLane(hn::SumOfLanes(d, hn::Add(s1, t1))),
                       hn::GetLane(hn::SumOfLanes(d, hn::Add(s2, t2))), hn::GetLane(hn::SumOfLanes(d, hn::Add(s3, t3)))};
    for (int i = 0; i < 4; ++i) args.c[n + i] = FinishOne(args, sums[i], n + i);
  }
  for (; n < n1; ++n) {
    const T* b = args.b + n * args.b_col;
    V s[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    int64_t p = 0;
    for (; p + 4 * kLanes <= k; p += 4 * kLanes) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        s[u] = hn::MulAdd(hn::LoadU(d, args.a + p + u * kLanes), hn::LoadU(d, b + p + u * kLanes), s[u]);
      }
    }
    for (; p < k; p += kLanes) {
      const int64_t left = std::min<int64_t>(k - p, kLanes);
      s[0] = hn::MulAdd(LoadFirst(d, args.a + p, left), LoadFirst(d, b + p, left), s[0]);
    }
    args.c[n] = FinishOne(args, hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s[0], s[1]), hn::Add(s[2], s[3])))), n);
  }
}

/// One row times row-major B: eight vectors of columns at a time, down all of k.
void RowTimesMatrix(const GemmArgs<T>& args, int64_t n0, int64_t n1) {
  const D d;
  constexpr int kVectors = 8;
  int64_t n = n0;
  for (; n + kVectors * kLanes <= n1; n += kVectors * kLanes) {
    V acc[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) acc[j] = hn::Zero(d);
    const T* b = args.b + n;
    for (int64_t p = 0; p < args.k; ++p, b += args.b_k) {
      const V x = hn::Set(d, args.a[p * args.a_k]);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) acc[j] = hn::MulAdd(x, hn::LoadU(d, b + j * kLanes), acc[j]);
    }
    TileOut out{args.c + n, args.c_row, args.alpha, args.accumulate, true, &args.epilogue, args.epilogue.row_bias,
                args.epilogue.col_bias == nullptr ? nullptr : args.epilogue.col_bias + n,
                args.epilogue.residual == nullptr ? nullptr : args.epilogue.residual + n};
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      V one[1][1] = {{acc[j]}};
      StoreTile<1, 1>(d, one, out);
      out.c += kLanes;
      if (out.col_bias != nullptr) out.col_bias += kLanes;
      if (out.residual != nullptr) out.residual += kLanes;
    }
  }
  for (; n + kLanes <= n1; n += kLanes) {
    V acc = hn::Zero(d);
    for (int64_t p = 0; p < args.k; ++p) {
      acc = hn::MulAdd(hn::Set(d, args.a[p * args.a_k]), hn::LoadU(d, args.b + p * args.b_k + n), acc);
    }
    const TileOut out{args.c + n, args.c_row, args.alpha, args.accumulate, true, &args.epilogue, args.epilogue.row_bias,
                      args.epilogue.col_bias == nullptr ? nullptr : args.epilogue.col_bias + n,
                      args.epilogue.residual == nullptr ? nullptr : args.epilogue.residual + n};
    V one[1][1] = {{acc}};
    StoreTile<1, 1>(d, one, out);
  }
  for (; n < n1; ++n) {
    T sum = 0;
    for (int64_t p = 0; p < args.k; ++p) sum += args.a[p * args.a_k] * args.b[p * args.b_k + n];
    args.c[n] = FinishOne(args, sum, n);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
