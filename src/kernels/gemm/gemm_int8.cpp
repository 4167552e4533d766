// GEMM of 8-bit integers.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_int8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "base/work_array.h"
#include "kernels/gemm/dot-inl.h"
#include "kernels/gemm/gemm_int8.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/vector/pin-inl.h"

#ifndef TESSERA_INT8_KERNELS  // once, though this file is included per target
#define TESSERA_INT8_KERNELS
namespace tessera::cpu {
struct Int8Kernels {
  int64_t width;
  int64_t rows;
  GemmKernelRows<int32_t> kernels;
  void (*interleave)(const uint8_t* in, bool is_signed, int64_t in_stride, int64_t kc, int64_t width,
                     const int32_t* zero_points, int64_t zero_point_step, int16_t* out);
  void (*requantize)(const int32_t* in, int64_t count, const float* scales, int64_t scale_step, int32_t zero_point,
                     bool is_signed, void* out);
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<int32_t>;
using D16 = hn::ScalableTag<int16_t>;
using DF = hn::ScalableTag<float>;
using V32 = hn::Vec<D32>;
using V16 = hn::Vec<D16>;

constexpr int kLanes = static_cast<int>(HWY_LANES(int32_t));
constexpr int kWidth = 2 * kLanes;
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 12 : 6;
constexpr int64_t kDepth = 512;    // k per visit
constexpr int64_t kColumns = 128;  // columns of B packed at a time

/// Products of pairs where there is no instruction that adds them up.
struct WidenedPairs {
  static constexpr bool kPossible = true;
  static bool Available() { return true; }
  HWY_INLINE V32 AddPairs(V32 sum, V16 a, V16 b) const {
    V32 unused = hn::Zero(D32());
    sum = hn::ReorderWidenMulAccumulate(D32(), a, b, sum, unused);
    Pin(sum);
    return sum;
  }
};

HWY_INLINE V16 LoadPairs(const int16_t* b) { return hn::LoadU(D16(), b); }
HWY_INLINE V16 LoadPairs(const int8_t* b) { return hn::PromoteTo(D16(), hn::LoadU(hn::Rebind<int8_t, D16>(), b)); }

/// R rows by N vectors of columns, over `pairs` pairs of k. B is of 16 bits, or of 8.
template <class Product, class B, int R, int N>
void MicroKernel(const int16_t* a, int64_t a_row, const B* b, int64_t pairs, int32_t* c, int64_t c_row, bool add) {
  const D32 d32;
  const D16 d16;
  V32 acc[R][N];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) acc[r][j] = hn::Zero(d32);
  }
  const Product product;
  const auto step = [&]() HWY_ATTR {
    V16 bv[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) bv[j] = LoadPairs(b + j * 2 * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      int32_t pair;
      std::memcpy(&pair, a + r * a_row, sizeof(pair));
      const V16 av = hn::BitCast(d16, hn::Set(d32, pair));
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) acc[r][j] = product.AddPairs(acc[r][j], av, bv[j]);
    }
    a += 2;
    b += 2 * kWidth;
  };
  // Few rows take so few instructions a step that those of the loop count.
  constexpr int64_t kTogether = R <= 2 ? 4 : 2;
  int64_t p = 0;
  for (; p + kTogether <= pairs; p += kTogether) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kTogether; ++i) step();
  }
  for (; p < pairs; ++p) step();
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      int32_t* to = c + r * c_row + j * kLanes;
      hn::StoreU(add ? hn::Add(acc[r][j], hn::LoadU(d32, to)) : acc[r][j], d32, to);
    }
  }
}

template <class B>
using MicroKernelFn = void (*)(const int16_t*, int64_t, const B*, int64_t, int32_t*, int64_t, bool);

template <class Product, class B, int N, size_t... R>
constexpr MicroKernelFn<B> KernelForRows(std::index_sequence<R...>, int64_t rows) {
  constexpr MicroKernelFn<B> kernels[] = {MicroKernel<Product, B, static_cast<int>(R) + 1, N>...};
  return kernels[rows - 1];
}

template <class Product, class B>
MicroKernelFn<B> KernelFor(int64_t rows, int64_t width) {
  constexpr auto kSequence = std::make_index_sequence<kRows>{};
  return width <= kLanes ? KernelForRows<Product, B, 1>(kSequence, rows) : KernelForRows<Product, B, 2>(kSequence, rows);
}

template <class Product, class B>
void MultiplyPanel(const GemmProblem<int32_t>& args, int64_t m0, int64_t m1, int64_t n, int64_t width, const B* b,
                   int64_t pair0, int64_t pairs) {
  const int64_t a_row = args.lhs.row;
  PacedCancellationPoint look(2);
  for (int64_t m = m0; m < m1; m += kRows) {
    look.Pass(pairs);
    const int64_t rows = std::min<int64_t>(kRows, m1 - m);
    const MicroKernelFn<B> kernel = KernelFor<Product, B>(rows, width);
    const int16_t* a = args.lhs.data + m * a_row + 2 * pair0;
    int32_t* c = args.out.data + m * args.out.row + n;
    if (width == kWidth || width == kLanes) {
      kernel(a, a_row, b, pairs, c, args.out.row, pair0 > 0);
      continue;
    }
    HWY_ALIGN int32_t buffer[kRows * kWidth];
    const size_t bytes = static_cast<size_t>(width) * sizeof(int32_t);
    if (pair0 > 0) {
      for (int64_t r = 0; r < rows; ++r) std::memcpy(buffer + r * kWidth, c + r * args.out.row, bytes);
    }
    kernel(a, a_row, b, pairs, buffer, kWidth, pair0 > 0);
    for (int64_t r = 0; r < rows; ++r) std::memcpy(c + r * args.out.row, buffer + r * kWidth, bytes);
  }
}

/// One row by P panels, `panel` elements apart: a single row has nothing else to share what is loaded of A with.
template <class Product, class B, int P>
HWY_INLINE void MultiplyRowByPanels(const int16_t* HWY_RESTRICT a, const B* HWY_RESTRICT b, int64_t panel, int64_t pairs,
                                    int32_t* HWY_RESTRICT out) {
  const D32 d32;
  const D16 d16;
  V32 acc[P][2];
#pragma GCC unroll 4
  for (auto& of_panel : acc) of_panel[0] = of_panel[1] = hn::Zero(d32);
  const Product product;
  for (int64_t p = 0; p < pairs; ++p, b += 2 * kWidth) {
    int32_t pair;
    std::memcpy(&pair, a + 2 * p, sizeof(pair));
    const V16 av = hn::BitCast(d16, hn::Set(d32, pair));
#pragma GCC unroll 4
    for (int i = 0; i < P; ++i) {
      const B* from = b + i * panel;
      acc[i][0] = product.AddPairs(acc[i][0], av, LoadPairs(from));
      acc[i][1] = product.AddPairs(acc[i][1], av, LoadPairs(from + 2 * kLanes));
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < P; ++i) {
    hn::StoreU(acc[i][0], d32, out + i * kWidth);
    hn::StoreU(acc[i][1], d32, out + i * kWidth + kLanes);
  }
}

/// Row `m` of A by columns [n0, n1) of a packed B.
template <class Product, class B>
void MultiplyRow(const GemmProblem<int32_t>& args, const B* packed, int64_t m, int64_t n0, int64_t n1) {
  constexpr int64_t kTogether = 4;
  const int64_t pairs = Pairs(args.k), panel = 2 * pairs * kWidth;
  const int16_t* a = args.lhs.data + m * args.lhs.row;
  int32_t* c = args.out.data + m * args.out.row;
  PacedCancellationPoint look(2);
  int64_t n = n0;
  for (; n + kTogether * kWidth <= n1; n += kTogether * kWidth) {
    look.Pass(kTogether * pairs);
    MultiplyRowByPanels<Product, B, kTogether>(a, packed + n * 2 * pairs, panel, pairs, c + n);
  }
  for (; n < n1; n += kWidth) {
    look.Pass(pairs);
    HWY_ALIGN int32_t sums[kWidth];
    MultiplyRowByPanels<Product, B, 1>(a, packed + n * 2 * pairs, panel, pairs, sums);
    std::copy_n(sums, std::min<int64_t>(kWidth, n1 - n), c + n);
  }
}

/// Calls visit(n, width, k, kc) for the parts of panels that cover columns [n0, n1), in the order in which they are read.
template <class Visit>
HWY_INLINE void ForPanels(int64_t k_end, int64_t n0, int64_t n1, const Visit& visit) {
  for (int64_t n = n0; n < n1; n += kColumns) {
    const int64_t n_end = std::min(n1, n + kColumns);
    for (int64_t k = 0; k == 0 || k < k_end; k += kDepth) {
      CancellationPoint();
      for (int64_t j = n; j < n_end; j += kWidth)
        visit(j, std::min<int64_t>(kWidth, n_end - j), k, std::min(kDepth, k_end - k));
    }
  }
}

template <class Product, class B>
void TileOfPanels(const GemmProblem<int32_t>& args, const B* packed, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  if (m1 - m0 == 1) return MultiplyRow<Product>(args, packed, m0, n0, n1);
  ForPanels(args.k, n0, n1, [&](int64_t n, int64_t width, int64_t k, int64_t kc) {
    const B* panel = packed + n * 2 * Pairs(args.k) + k * kWidth;
    MultiplyPanel<Product>(args, m0, m1, n, width, panel, k / 2, Pairs(kc));
  });
}

/// B is panels of its elements, or makes them.
template <class Product, class B>
void Tile(const GemmProblem<int32_t>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  if (args.rhs.packed != nullptr)
    return TileOfPanels<Product>(args, static_cast<const B*>(args.rhs.packed), m0, m1, n0, n1);
  const WorkArray<int16_t> buffer(kDepth * kWidth);
  int16_t* panel = buffer;
  ForPanels(args.k, n0, n1, [&](int64_t n, int64_t width, int64_t k, int64_t kc) {
    args.rhs.source->Pack(k, kc, n, width, panel);
    MultiplyPanel<Product, int16_t>(args, m0, m1, n, width, panel, k / 2, Pairs(kc));
  });
}

template <class T>
void InterleaveTyped(const T* in, int64_t in_stride, int64_t kc, int64_t width, const int16_t* zero_points, int16_t* out) {
  int64_t k = 0;
  for (; k + 2 <= kc; k += 2, out += 2 * kWidth) {
    const T* even = in + k * in_stride;
    const T* odd = even + in_stride;
    if (width == kWidth) {
      for (int j = 0; j < kWidth; ++j) {
        out[2 * j] = static_cast<int16_t>(even[j] - zero_points[j]);
        out[2 * j + 1] = static_cast<int16_t>(odd[j] - zero_points[j]);
      }
    } else {
      for (int64_t j = 0; j < width; ++j) {
        out[2 * j] = static_cast<int16_t>(even[j] - zero_points[j]);
        out[2 * j + 1] = static_cast<int16_t>(odd[j] - zero_points[j]);
      }
    }
  }
  if (k < kc) {
    for (int64_t j = 0; j < width; ++j) {
      out[2 * j] = static_cast<int16_t>(in[k * in_stride + j] - zero_points[j]);
      out[2 * j + 1] = 0;
    }
  }
}

void Interleave(const uint8_t* in, bool is_signed, int64_t in_stride, int64_t kc, int64_t width, const int32_t* zero_points,
                int64_t zero_point_step, int16_t* out) {
  int16_t zeros[kWidth];
  for (int64_t j = 0; j < kWidth; ++j)
    zeros[j] = j < width ? static_cast<int16_t>(zero_points[j * zero_point_step]) : int16_t{0};
  if (width < kWidth) std::fill_n(out, Pairs(kc) * 2 * kWidth, int16_t{0});
  if (is_signed) {
    InterleaveTyped(reinterpret_cast<const int8_t*>(in), in_stride, kc, width, zeros, out);
  } else {
    InterleaveTyped(in, in_stride, kc, width, zeros, out);
  }
}

template <class T>
void RequantizeTyped(const int32_t* in, int64_t count, const float* scales, int64_t scale_step, int32_t zero_point,
                     T* out) {
  constexpr float kLow = std::is_signed_v<T> ? -128.0f : 0.0f;
  constexpr float kHigh = std::is_signed_v<T> ? 127.0f : 255.0f;
  const float zero = static_cast<float>(zero_point);
  const float low = kLow - zero;
  const float high = kHigh - zero;
  const auto one = [&](float value) HWY_ATTR {
    // Clamping first keeps the conversion in range; the bounds are whole numbers, so rounding after it is the same.
    value = value > low ? value : low;  // NaN becomes the lower bound
    value = value < high ? value : high;
    return static_cast<T>(static_cast<int32_t>(std::nearbyint(value)) + zero_point);
  };
  if (scale_step == 0) {
    const float scale = scales[0];
    for (int64_t i = 0; i < count; ++i) out[i] = one(static_cast<float>(in[i]) * scale);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = one(static_cast<float>(in[i]) * scales[i]);
  }
}

void Requantize(const int32_t* in, int64_t count, const float* scales, int64_t scale_step, int32_t zero_point,
                bool is_signed, void* out) {
  if (is_signed) {
    RequantizeTyped(in, count, scales, scale_step, zero_point, static_cast<int8_t*>(out));
  } else {
    RequantizeTyped(in, count, scales, scale_step, zero_point, static_cast<uint8_t*>(out));
  }
}

}  // namespace

namespace {

// What rows of kernels.inc need.
using Vnni = DotProduct;
using Vectors = WidenedPairs;

template <class Product, class B>
constexpr auto TileIfPossible() -> decltype(GemmKernel<int32_t>::multiply) {
  if constexpr (Product::kPossible) return Tile<Product, B>;
  else return nullptr;
}

}  // namespace

#define TESSERA_GEMM_INT32(name, Product, Lhs, Rhs, Out, few, many, steps, format) \
  {#name,                                                                          \
   PanelType::format,                                                              \
   HWY_TARGET == HWY_AVX3 ? many : few,                                            \
   kWidth,                                                                         \
   steps,                                                                          \
   Product::Available(),                                                           \
   false,                                                                          \
   TileIfPossible<Product, Rhs>()},
const Int8Kernels& Int8Table() {
  static const GemmKernel<int32_t> kernels[] = {
#include "kernels/gemm/kernels.inc"
  };
  static const Int8Kernels table = {kWidth, kRows, kernels, Interleave, Requantize};
  return table;
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
namespace {

HWY_EXPORT(Int8Table);

const Int8Kernels& Kernels() { return HWY_DYNAMIC_DISPATCH(Int8Table)(); }

template <class T>
void WidenTyped(const T* in, int64_t rows, int64_t k, int64_t row_stride, const int32_t* zero_points, int64_t step,
                int16_t* out) {
  for (int64_t i = 0; i < rows; ++i, out += 2 * Pairs(k)) {
    const int16_t zero = static_cast<int16_t>(zero_points[i * step]);
    const T* row = in + i * row_stride;
    for (int64_t p = 0; p < k; ++p) out[p] = static_cast<int16_t>(row[p] - zero);
    if (k % 2 != 0) out[k] = 0;
  }
}

}  // namespace

GemmKernelRows<int32_t> GemmKernelsInt32() { return Kernels().kernels; }

int64_t Int8PanelWidth() { return Kernels().width; }

void WidenRows(const void* in, bool is_signed, int64_t rows, int64_t k, int64_t row_stride, const int32_t* zero_points,
               int64_t zero_point_step, int16_t* out) {
  if (is_signed) {
    WidenTyped(static_cast<const int8_t*>(in), rows, k, row_stride, zero_points, zero_point_step, out);
  } else {
    WidenTyped(static_cast<const uint8_t*>(in), rows, k, row_stride, zero_points, zero_point_step, out);
  }
}

void InterleavePairs(const uint8_t* in, bool is_signed, int64_t in_stride, int64_t kc, int64_t width,
                     const int32_t* zero_points, int64_t zero_point_step, int16_t* out) {
  Kernels().interleave(in, is_signed, in_stride, kc, width, zero_points, zero_point_step, out);
}

size_t PackedInt8Size(int64_t k, int64_t n) {
  const int64_t width = Kernels().width;
  return static_cast<size_t>(CheckedMul(CheckedMul(CeilDiv(n, width), width), 2 * Pairs(k)));
}

void PackInt8(ThreadPool& threads, int64_t k, int64_t n, const GemmPanelSource<int16_t>& source, int16_t* packed) {
  const int64_t width = Kernels().width;
  threads.ParallelFor(CeilDiv(n, width), static_cast<double>(k * width) * 0.5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      source.Pack(0, k, i * width, std::min(width, n - i * width), packed + i * width * 2 * Pairs(k));
    }
  });
}

void PackNarrowInt8(ThreadPool& threads, int64_t k, int64_t n, const uint8_t* b, bool is_signed, int8_t* packed) {
  const int64_t width = Kernels().width;
  const uint8_t flip = is_signed ? 0 : 128;
  threads.ParallelFor(CeilDiv(n, width), static_cast<double>(k * width), [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * width, columns = std::min(width, n - first);
      int8_t* to = packed + first * 2 * Pairs(k);
      std::fill_n(to, width * 2 * Pairs(k), int8_t{0});
      for (int64_t p = 0; p < k; ++p) {
        int8_t* row = to + p / 2 * 2 * width + p % 2;
        for (int64_t j = 0; j < columns; ++j) row[2 * j] = static_cast<int8_t>(b[p * n + first + j] ^ flip);
      }
    }
  });
}

template <>
void Gemm<int32_t>(ThreadPool& threads, const GemmProblem<int32_t>& args, int32_t* /*workspace*/) {
  if (args.m <= 0 || args.n <= 0) return;
  const Int8Kernels& kernels = Kernels();
  const GemmKernel<int32_t>& kernel = *FindGemmKernel(kernels.kernels, args.rhs.type);
  const int64_t panels = CeilDiv(args.n, kernels.width);
  const int64_t blocks = CeilDiv(args.m, kernels.rows);
  const int64_t want = threads.num_threads() == 1 ? 1 : 3 * threads.num_threads();
  const int64_t per_task = std::clamp<int64_t>(panels / want, 1, std::max<int64_t>(128 / kernels.width, 1));
  const int64_t columns = want == 1 ? args.n : per_task * kernels.width;
  const int64_t column_tasks = CeilDiv(args.n, columns);
  int64_t rows = args.m;
  // Splitting rows repeats the packing of B: only where there are few columns.
  if (column_tasks < threads.num_threads())
    rows = CeilDiv(blocks, std::min(blocks, CeilDiv(want, column_tasks))) * kernels.rows;
  const int64_t row_tasks = CeilDiv(args.m, rows);
  const double work = static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.k) * 0.015;
  const int64_t tasks = column_tasks * row_tasks;
  threads.ParallelFor(tasks, work / static_cast<double>(tasks), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t m = i / column_tasks * rows;
      const int64_t n = i % column_tasks * columns;
      kernel.multiply(args, m, std::min(args.m, m + rows), n, std::min(args.n, n + columns));
    }
  });
}

void RequantizeRow(const int32_t* in, int64_t count, const float* scales, int64_t scale_step, int32_t zero_point,
                   bool is_signed, void* out) {
  Kernels().requantize(in, count, scales, scale_step, zero_point, is_signed, out);
}

}  // namespace tessera::cpu
#endif
