// GEMM of unsigned bytes with constant signed bytes, by dot products that do not saturate: weights are packed as they
// are.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_u8s8_dot.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <utility>

#include "kernels/gemm/dot-inl.h"
#include "kernels/gemm/rows_u8s8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

// Loads are few beside the dot products, so that the second cache keeps up.
constexpr int64_t kStayingInL2 = 256 << 10;

template <class Product>
struct DotTiles {
  static constexpr int64_t kStayingBytes = kStayingInL2, kSegmentStep = 1;
  using Scope = NoScope;

  static int64_t Rows(const PackedWeightsS8&) { return kWideRows; }

  template <bool kVectors>
  static TileFn Find(int64_t, int64_t rows, bool wide) {
    return PlainTileOf<Product, kVectors, kWideRows>(std::make_index_sequence<kWideRows>{}, rows, wide);
  }
};

/// R rows from `m` whose accumulators are requantized, scaled to floats, or stored.
template <class Product, int R, int N, class T>
void PaddedTile(const Part& part, int64_t m, int32_t* accumulators, BlockPrefetch& prefetch) {
  const D8 d8;
  const Product product;
  const int64_t row = part.row;
  V32 acc[R][N];
  StartTile(part, m, accumulators, acc);
  const uint8_t* left = part.rows + m * row;
  const uint8_t* right = part.weights;
  for (int64_t begin = 0; begin < part.segments; begin += kAskingSteps) {
    prefetch.Continue();
    const int64_t end = std::min(part.segments, begin + kAskingSteps);
    for (int64_t s = begin; s < end; ++s, left += 4, right += kRecord) {
      V8 b[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        b[j] = hn::LoadU(d8, right + j * 4 * kLanes);
        __builtin_prefetch(right + j * 4 * kLanes + kWeightsAhead);
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V8 a = Broadcast(left + r * row);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) acc[r][j] = product.Add(acc[r][j], a, b[j]);
      }
    }
  }
  part.last ? StoreTile(part, acc, static_cast<T*>(part.out) + m * part.out_row) : StoreAccumulators(acc, accumulators);
}

template <class Product>
struct DotPaddedTiles {
  static constexpr int64_t kFewestRows = 1;
  static constexpr int64_t kRowsPassing = 16 * kWideRows;
  static constexpr int64_t kStayingBytes = kStayingInL2;

  static int64_t AskingTimes(int64_t segments) { return CeilDiv(segments, kAskingSteps); }

  static PartFn Find(int64_t, bool narrow, OutputStage::Kind kind) {
    switch (kind) {
      case OutputStage::kUInt8: return narrow ? Run<1, uint8_t> : Run<2, uint8_t>;
      case OutputStage::kInt8: return narrow ? Run<1, int8_t> : Run<2, int8_t>;
      case OutputStage::kAccumulators: return narrow ? Run<1, int32_t> : Run<2, int32_t>;
      default: return narrow ? Run<1, float> : Run<2, float>;
    }
  }

 private:
  /// Tiles as alike in height as can be.
  template <int N, class T>
  static void Run(const Part& part, BlockPrefetch& prefetch) {
    const int64_t height = CeilDiv(part.count, CeilDiv(part.count, kWideRows));
    for (int64_t m = 0; m < part.count; m += height) {
      TileOf<N, T>(std::make_index_sequence<kWideRows>{}, std::min(height, part.count - m))(
          part, m, part.accumulators + m * kWidth, prefetch);
    }
  }

  template <int N, class T, size_t... R>
  static auto TileOf(std::index_sequence<R...>, int64_t rows) {
    constexpr void (*kTiles[])(const Part&, int64_t, int32_t*,
                               BlockPrefetch&) = {PaddedTile<Product, static_cast<int>(R) + 1, N, T>...};
    return kTiles[rows - 1];
  }
};

/// Weights that are packed as they are, are so for requantized rows, too.
template <class Product>
void MultiplySomeRows(const PackedWeightsS8& packed, const RowsU8& left, int64_t m0, int64_t m1, int64_t b0, int64_t b1,
                      const OutputStage& store) {
  OutputStage some = store;
  some.data = static_cast<uint8_t*>(store.data) + m0 * store.row * store.size();
  if (store.row_sums != nullptr) some.row_sums += m0;
  MultiplyPaddedRowsBy<DotPaddedTiles<Product>>(packed, {left.data + m0 * left.row, left.row, m1 - m0}, b0, b1, some);
}

template <class Product>
U8S8Kernels TableOf(bool available) {
  return {.available = available,
          .packing = U8S8Packing::kExact,
          .width = kWidth,
          .rows = kWideRows,
          .wide_rows = kWideRows,
          .multiply_ns = 0.005,
          .multiply_rows = MultiplySomeRows<Product>,
          .multiply_panels = MultiplyPanelsBy<DotTiles<Product>>,
          .multiply_padded_rows = MultiplyPaddedRowsBy<DotPaddedTiles<Product>>};
}

}  // namespace

U8S8Kernels DotTable(bool emulated) {
  if (emulated) return TableOf<EmulatedDotProduct>(true);
  if constexpr (DotProduct::kPossible) return TableOf<DotProduct>(DotProduct::Available());
  return {};
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(DotTable);

U8S8Kernels DotKernelsU8S8(bool emulated) { return HWY_DYNAMIC_DISPATCH(DotTable)(emulated); }

}  // namespace tessera::cpu
#endif
