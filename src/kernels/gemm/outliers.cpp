// Sparse GEMM of outliers with transposed rows of bytes.

#include "base/rounding.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/outliers.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "kernels/gemm/outliers.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kStep = 8;  // rows and pairs of a transposition

/// Eight pairs of the first `rows` of eight rows, the last of them in place of those behind it.
HWY_INLINE void TransposeBlock(const uint8_t* from, int64_t row, int64_t rows, int16_t* to) {
  const hn::FixedTag<uint16_t, 8> d;
  const hn::FixedTag<uint32_t, 4> d32;
  const hn::FixedTag<uint64_t, 2> d64;
  hn::Vec<decltype(d)> pairs_of[8];
  hn::Vec<decltype(d32)> t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const int64_t from_row = std::min<int64_t>(i, rows - 1) * row;
    pairs_of[i] = hn::BitCast(d, hn::LoadU(hn::FixedTag<uint8_t, 16>(), from + from_row));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = hn::BitCast(d32, hn::InterleaveLower(d, pairs_of[2 * i], pairs_of[2 * i + 1]));
    t[2 * i + 1] = hn::BitCast(d32, hn::InterleaveUpper(d, pairs_of[2 * i], pairs_of[2 * i + 1]));
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {  // pairs from 4 * half, of rows 0 to 3 and 4 to 7
    const auto l0 = hn::BitCast(d64, hn::InterleaveLower(d32, t[half], t[2 + half])),
               l1 = hn::BitCast(d64, hn::InterleaveUpper(d32, t[half], t[2 + half]));
    const auto h0 = hn::BitCast(d64, hn::InterleaveLower(d32, t[4 + half], t[6 + half])),
               h1 = hn::BitCast(d64, hn::InterleaveUpper(d32, t[4 + half], t[6 + half]));
    const hn::Vec<decltype(d)> pairs[4] = {
        hn::BitCast(d, hn::InterleaveLower(d64, l0, h0)), hn::BitCast(d, hn::InterleaveUpper(d64, l0, h0)),
        hn::BitCast(d, hn::InterleaveLower(d64, l1, h1)), hn::BitCast(d, hn::InterleaveUpper(d64, l1, h1))};
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
      const auto first = hn::And(pairs[p], hn::Set(d, 0xff)), second = hn::ShiftRight<8>(pairs[p]);
      auto* out = reinterpret_cast<uint16_t*>(to) + (4 * half + p) * 2 * kTransposedRows;
      hn::StoreU(hn::InterleaveLower(d, first, second), d, out);
      hn::StoreU(hn::InterleaveUpper(d, first, second), d, out + 8);
    }
  }
}

void TransposeRows(const uint8_t* from, int64_t row, int64_t rows, int64_t k, int16_t* to) {
  const int64_t pairs = (k + 1) / 2;
  for (int64_t r = 0; r < kTransposedRows; r += kStep) {
    int64_t p = 0;
    const int64_t some = std::clamp<int64_t>(rows - r, 0, kStep);
    for (; some > 0 && 2 * (p + kStep) <= k; p += kStep)
      TransposeBlock(from + r * row + 2 * p, row, some, to + p * 2 * kTransposedRows + 2 * r);
    for (; p < pairs; ++p) {
      int16_t* out = to + p * 2 * kTransposedRows + 2 * r;
      for (int64_t i = 0; i < some; ++i) {
        out[2 * i] = from[(r + i) * row + 2 * p];
        out[2 * i + 1] = from[(r + i) * row + 2 * p + 1];
      }
      std::fill_n(out + 2 * some, 2 * (kStep - some), int16_t{0});
    }
  }
}

/// Four output channels of four rows.
HWY_INLINE void AddTransposed(const int32_t* products, int32_t* accumulators, int64_t width) {
  const hn::FixedTag<int32_t, 4> d;
  const hn::FixedTag<int64_t, 2> d64;
  const auto r0 = hn::Load(d, products), r1 = hn::Load(d, products + kTransposedRows);
  const auto r2 = hn::Load(d, products + 2 * kTransposedRows), r3 = hn::Load(d, products + 3 * kTransposedRows);
  const auto q0 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1)), q1 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
  const auto q2 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1)), q3 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
  const auto add = [&](auto values, int64_t r) HWY_ATTR {
    hn::Store(hn::Add(hn::Load(d, accumulators + r * width), hn::BitCast(d, values)), d, accumulators + r * width);
  };
  add(hn::InterleaveLower(d64, q0, q1), 0);
  add(hn::InterleaveUpper(d64, q0, q1), 1);
  add(hn::InterleaveLower(d64, q2, q3), 2);
  add(hn::InterleaveUpper(d64, q2, q3), 3);
}

constexpr int kMostParts = 3;       // of kTransposedRows rows, that one pass over an output channel's outliers serves
constexpr int64_t kMostWidth = 64;  // output channels

/// What kParts parts of rows from `transposed` on, `size` apart, give with outliers [at, end) of an output channel, to
/// `products`.
template <int kParts>
HWY_INLINE void MultiplyOutliers(const int16_t* transposed, int64_t size, const Outlier* at, const Outlier* end,
                                 int32_t* products) {
  const hn::ScalableTag<int32_t> d32;
  const hn::ScalableTag<int16_t> d16;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(int32_t));
  constexpr int kVectors = static_cast<int>(kTransposedRows / kLanes);
  hn::Vec<decltype(d32)> total[kParts][kVectors], unused = hn::Zero(d32);
#pragma GCC unroll 4
  for (int part = 0; part < kParts; ++part) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) total[part][v] = hn::Zero(d32);
  }
  for (; at != end; ++at) {
    const auto weights = hn::BitCast(d16, hn::Set(d32, std::bit_cast<int32_t>(at->weights)));
    const int16_t* pairs = transposed + at->pair * 2 * kTransposedRows;
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const auto rows = hn::LoadU(d16, pairs + part * size + v * 2 * kLanes);
        total[part][v] = hn::ReorderWidenMulAccumulate(d32, rows, weights, total[part][v], unused);
      }
    }
  }
#pragma GCC unroll 4
  for (int part = 0; part < kParts; ++part) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      hn::Store(total[part][v], d32, products + part * kMostWidth * kTransposedRows + v * kLanes);
  }
}

/// What kParts parts of rows from `transposed` on, TransposedSize() apart, add to output channels [first, first + width).
template <int kParts>
void AddOutlierParts(const PackedWeightsS8& packed, const int16_t* transposed, int64_t first, int64_t width,
                     int32_t* accumulators) {
  HWY_ALIGN int32_t products[kParts][kMostWidth * kTransposedRows];
  const int64_t size = TransposedSize(packed.k), count = std::min(packed.n - first, width);
  const int64_t* begin = packed.outlier_begin.data() + first;
  const Outlier* outliers = packed.outliers.data();
  const auto has_outliers = [&](int64_t i) { return begin[i] != begin[std::min(i + kOutlierChannels, count)]; };
  for (int64_t i = 0; i < count; i += kOutlierChannels) {
    if (!has_outliers(i)) continue;
    for (int64_t c = i; c < i + kOutlierChannels; ++c) {  // those behind the last are padding of the panel
      const Outlier* end = outliers + begin[std::min(c + 1, count)];
      MultiplyOutliers<kParts>(transposed, size, outliers + begin[std::min(c, count)], end,
                               products[0] + c * kTransposedRows);
    }
  }
  for (const auto& part : products) {
    for (int64_t i = 0; i < count; i += kOutlierChannels) {
      if (!has_outliers(i)) continue;
      for (int64_t j = 0; j < kTransposedRows; j += 4)
        AddTransposed(part + i * kTransposedRows + j, accumulators + j * width + i, width);
    }
    accumulators += kTransposedRows * width;
  }
}

/// The same of kRows rows as they are.
template <int kRows>
void AddOutliersOf(const PackedWeightsS8& packed, const uint8_t* from, int64_t row, int64_t first, int64_t width,
                   int32_t* accumulators) {
  const int64_t count = std::min(packed.n - first, width);
  const int64_t* begin = packed.outlier_begin.data() + first;
  const Outlier *at = packed.outliers.data() + begin[0], *outliers = packed.outliers.data();
  for (int64_t i = 0; i < count; ++i) {
    if (begin[i] == begin[i + 1]) continue;
    int32_t sums[kRows] = {};
    for (const Outlier* end = outliers + begin[i + 1]; at != end; ++at) {
      const uint8_t* pair = from + 2 * at->pair;
      const int32_t w0 = at->weights[0], w1 = at->weights[1];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sums[r] += pair[r * row] * w0 + pair[r * row + 1] * w1;
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) accumulators[r * width + i] += sums[r];
  }
}

void AddOutliersAsTheyAre(const PackedWeightsS8& packed, const uint8_t* from, int64_t row, int64_t rows, int64_t first,
                          int64_t width, int32_t* accumulators) {
  constexpr int64_t kMost = 4;
  for (; rows >= kMost; rows -= kMost, from += kMost * row, accumulators += kMost * width)
    AddOutliersOf<kMost>(packed, from, row, first, width, accumulators);
  constexpr decltype(&AddOutliersOf<1>) kOf[] = {AddOutliersOf<1>, AddOutliersOf<2>, AddOutliersOf<3>};
  if (rows > 0) kOf[rows - 1](packed, from, row, first, width, accumulators);
}

void AddOutliersOfParts(const PackedWeightsS8& packed, const int16_t* transposed, int64_t m, int64_t rows, int64_t first,
                        int64_t width, int32_t* accumulators) {
  int64_t parts = CeilDiv(rows, kTransposedRows);
  transposed += m / kTransposedRows * TransposedSize(packed.k);
  for (; parts >= kMostParts; parts -= kMostParts) {
    AddOutlierParts<kMostParts>(packed, transposed, first, width, accumulators);
    transposed += kMostParts * TransposedSize(packed.k);
    accumulators += kMostParts * kTransposedRows * width;
  }
  if (parts == 2) AddOutlierParts<2>(packed, transposed, first, width, accumulators);
  if (parts == 1) AddOutlierParts<1>(packed, transposed, first, width, accumulators);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(TransposeRows);
HWY_EXPORT(AddOutliersOfParts);
HWY_EXPORT(AddOutliersAsTheyAre);

void TransposePairs(const uint8_t* from, int64_t row, int64_t rows, int64_t k, int16_t* to) {
  HWY_DYNAMIC_DISPATCH(TransposeRows)(from, row, rows, k, to);
}

void AddOutliers(const PackedWeightsS8& packed, const int16_t* transposed, int64_t m, int64_t rows, int64_t first,
                 int64_t width, int32_t* accumulators) {
  HWY_DYNAMIC_DISPATCH(AddOutliersOfParts)(packed, transposed, m, rows, first, width, accumulators);
}

void AddOutliersOfRows(const PackedWeightsS8& packed, const uint8_t* from, int64_t row, int64_t rows, int64_t first,
                       int64_t width, int32_t* accumulators) {
  HWY_DYNAMIC_DISPATCH(AddOutliersAsTheyAre)(packed, from, row, rows, first, width, accumulators);
}

bool TransposesRows(const PackedWeightsS8& packed, int64_t rows) {
  // Nanoseconds of a byte that is transposed, and of an outlier by kTransposedRows rows; of an outlier by one row as it is,
  // and of an output channel of four (Zen 3: 408 products and convolutions are within 0.5 % of the faster way on average).
  constexpr double kByteNs = 0.06, kVectorNs = 1.5, kRowNs = 0.7, kChannelNs = 0.1;
  const auto outliers = static_cast<double>(packed.outliers.size()), of_rows = static_cast<double>(rows);
  const auto parts = static_cast<double>(CeilDiv(rows, kTransposedRows));
  const double transposed = parts * (static_cast<double>(kTransposedRows * packed.k) * kByteNs + outliers * kVectorNs);
  const double as_they_are = of_rows * outliers * kRowNs + of_rows / 4 * static_cast<double>(packed.n) * kChannelNs;
  return rows > 2 && !packed.outliers.empty() && as_they_are > transposed;
}

}  // namespace tessera::cpu
#endif
