#pragma once

// GEMM of unsigned bytes with constant signed bytes, exact in 32 bits, and its output stage.
//
// Multiply-add of bytes (pmaddubsw) adds pairs of products in 16 bits, which saturate. The weights are constant, so packing
// knows the range of these sums: `depth` groups of four products are accumulated in 16 bits before they widen, each sum
// less 128 times its weights, which keeps it in range as long as the magnitudes of its weights add up to 255. Weights
// beyond that are outliers: pairs of them become a sparse matrix where output channels run along the vectors
// (outliers.h), and groups of their own, which widen at once, where they are broadcast. Where most would be
// outliers, both operands are widened to 16 bits first, and pairs of products are added in 32. Where the processor has dot
// products of bytes (VNNI), which accumulate in 32 bits, weights are packed as they are (gemm_u8s8_dot.cpp), or tiles
// of them (gemm_u8s8_tiles.cpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/provider/thread_pool.h"
#include "tessera/value.h"

namespace tessera::cpu {

/// Two adjacent weights of an output channel that are outliers: those at 2 * pair.
struct Outlier {
  int32_t pair;
  std::array<int16_t, 2> weights;
};

/// Output channels of constant weights (rows of a convolution's matrix, columns of a GEMM's B), in panels of `width`. A
/// panel is segments of one record of offsets and `depth` groups; a record is four bytes of each output channel. Depth 1: a
/// segment is one group. Depth 0: the other operand is of 16 bits too, and a segment is one record of two weights of each
/// output channel. Tiles: depth 1, segments of whole tiles; what is left of k are kTileGroups extras of each panel, the
/// last groups, those of the segments zeros. For PanelLayout::kBroadcast each output channel's bytes of a tile are
/// adjacent.
struct PackedWeightsS8 {
  int64_t n = 0;
  int64_t k = 0;
  int64_t width = 0;
  int64_t depth = 0;
  int64_t segments = 0;
  int64_t block_bytes = 0;
  bool tiles = false;
  Tensor values;                     // int8
  std::vector<int64_t> extra_begin;  // by panel, and the end
  std::vector<int64_t> extra_group;  // whose bytes a record of `extras` multiplies
  Tensor extras;
  std::vector<int64_t> outlier_begin;  // by output channel, and the end; empty: no outliers
  std::vector<Outlier> outliers;
  std::vector<int32_t> sums;     // of each output channel's weights
  std::vector<int32_t> offsets;  // to be added to the accumulators, by output channel

  bool wide() const { return depth == 0; }
  /// Of a segment.
  int64_t records() const { return depth < 2 ? 1 : depth + 1; }
  /// Records of the other operand: groups of four bytes, or pairs of 16 bits.
  int64_t groups() const { return wide() ? (k + 1) / 2 : (k + 3) / 4; }
};

/// Weight `j` of output channel `i`: values[i * n_stride + j * k_stride], as int8, or uint8 less 128.
struct WeightSource {
  const uint8_t* values;
  bool is_signed;
  int64_t n, k, n_stride, k_stride;

  int weight(int64_t channel, int64_t j) const {
    const uint8_t value = values[channel * n_stride + j * k_stride];
    return is_signed ? static_cast<int>(static_cast<int8_t>(value)) : value - 128;
  }
};

enum class PanelLayout {
  kVectors,     // output channels along the vectors: outputs of a row are adjacent
  kBroadcast,   // output channels are broadcast: outputs of one are adjacent
  kPaddedRows,  // as along the vectors, for MultiplyPaddedRows: outliers in groups, never 16 bits
};

/// Null where the machine has no such instructions.
std::shared_ptr<const PackedWeightsS8> PackWeightsS8(ThreadPool& threads, const WeightSource& source, PanelLayout side);

/// The output stage of the accumulators. Pointers by output channel are padded to whole panels.
struct OutputStage {
  enum Kind { kUInt8, kInt8, kFloat, kAccumulators };  // kAccumulators: as they are
  Kind kind = kUInt8;
  void* data = nullptr;
  int64_t row = 0;                        // elements from row (or output channel) to row of the output
  const int32_t* add = nullptr;           // by output channel, to the accumulator
  const float* scales = nullptr;          // by output channel; kAccumulators reads none
  const float* bias = nullptr;            // by output channel, of floats; may be null
  int32_t zero = 0;                       // the output's zero point
  const int32_t* row_sums = nullptr;      // of the unsigned operand's rows; not needed of panels
  const int32_t* weight_zeros = nullptr;  // what row (or pixel) sums are multiplied with, by output channel; may be null

  /// Bytes of an element of the output.
  int64_t size() const { return kind == kFloat || kind == kAccumulators ? 4 : 1; }
};

/// Columns of a panel.
int64_t PanelWidth();

/// A multiply-add here, for estimates of work, in nanoseconds.
double MultiplyNsU8S8();

/// k bytes a row, one after the other. Signed bytes count 128 more.
struct GemmLhsU8 {
  const uint8_t* data;
  bool is_signed;
  bool padded = false;  // each row, which is not signed, by zeros to whole groups of the weights, which are not wide
};

/// C[m,n] = output stage(A[m,k] * weights[k,n]).
struct GemmU8S8Problem {
  int64_t m;
  GemmLhsU8 lhs;
  const PackedWeightsS8* rhs;  // of PanelLayout::kVectors; they know n and k
  OutputStage out;             // row sums are computed where there are weight zeros
};

/// Bytes, from a line of the cache on.
size_t GemmWorkspaceSize(const GemmU8S8Problem& problem);
void Gemm(ThreadPool& threads, const GemmU8S8Problem& problem, std::byte* workspace);

// What it is made of. Convolutions call these themselves: they pack pixels on the way.

/// Rows of whole groups, of bytes, or of 16 bits where the weights are wide.
struct RowsU8 {
  const uint8_t* data;
  int64_t row;  // bytes from row to row
  // The same in pairs (TransposePairs), where TransposesRows(): then the first row is a multiple of kTransposedRows.
  const int16_t* transposed = nullptr;
};

/// out[m][n] of rows [m0, m1) and the output channels of panels [b0, b1).
void MultiplyRows(const PackedWeightsS8& packed, const RowsU8& left, int64_t m0, int64_t m1, int64_t b0, int64_t b1,
                  const OutputStage& store);

/// out[channel][pixel] of weight panels [b0, b1) and `pixels` columns from `first`; pixel panels are panel_bytes apart.
void MultiplyPanels(const PackedWeightsS8& packed, const uint8_t* panels, int64_t panel_bytes, int64_t first,
                    int64_t pixels, int64_t b0, int64_t b1, const OutputStage& store);

/// Adjacent pixels of a panel: where they are copied from, and to. Runs ascend in both.
struct PixelRun {
  int64_t from, to, length;
};

/// Rows of bytes whose columns are pixels: row i begins at base + offsets[i].
struct PixelSource {
  const uint8_t* base;
  const uint8_t* end;  // of what may be read
  const int64_t* offsets;
  int64_t last_offset;  // the greatest
  int64_t rows;
  uint8_t flip;  // exclusive-or of every byte
  bool wide;     // pairs of 16 bits instead of groups of bytes
};

/// Bytes of a packed panel.
int64_t PanelBytes(int64_t rows, bool wide);

/// A panel of at most PanelWidth() pixels, given as runs.
void PackPixels(const PixelSource& source, const PixelRun* runs, size_t count, uint8_t* out);

}  // namespace tessera::cpu
