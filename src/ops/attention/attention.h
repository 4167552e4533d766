#pragma once

// Attention (23, 24, 25), and of ai.tessera (1), which rewrites make: it has more attributes.
//   broadcast  batch, queries and mask broadcast as in the MatMul, Add and MatMul that it stands for
//   nan_rows   a row of which the mask leaves nothing is NaN, as of Softmax
//   columns    first column and end of queries, keys and values in the rows of inputs that hold more than these

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/provider/graph.h"
#include "tessera/value.h"

namespace tessera {

struct AttentionAttributes {
  explicit AttentionAttributes(const Node& node);

  /// What scores are multiplied with, for heads of this width.
  double Scale(int64_t width) const;

  int64_t q_heads, kv_heads;  // 0 where they are not given: inputs of four dimensions say it
  bool causal;
  std::optional<float> scale;
  float softcap;
  int64_t capture;      // qk_matmul_output_mode: at which stage output 3 has the scores
  int64_t left, right;  // how many keys before and after its own a query sees; -1: all
  // of ai.tessera alone
  bool broadcasts;
  bool nan_rows;
  std::vector<int64_t> columns;
};

/// Sizes of Q, K or V: [batch, heads, rows, width], or [batch, rows, heads * width].
struct HeadSizes {
  int64_t batch, heads, rows, width;
  bool packed;
  int64_t first = 0;                                // column of a packed row of
  int64_t columns = 0;                              // that many
  bool repeats_batch = false, repeats_row = false;  // one for all

  /// Of what is stored with these sizes; where it repeats, what stands there is for more than is stored.
  int64_t batch_stride() const;
  int64_t head_stride() const;
  int64_t row_stride() const { return packed ? columns : width; }
};

struct AttentionSizes {
  int64_t batch, query_heads, kv_heads, queries, keys, width, value_width;
};

/// `columns`: first and end of those to be taken, or null for all. This and what follows throws Error where shapes do not
/// fit.
HeadSizes ReadHeads(const Shape& shape, int64_t heads, const int64_t* columns, std::string_view name);

/// Sizes of all heads with `past` rows before the keys.
AttentionSizes CombineHeads(const HeadSizes& q, const HeadSizes& k, const HeadSizes& v, int64_t past);

/// Sizes of the result: as queries, of rows as wide as values.
HeadSizes ResultHeads(const HeadSizes& q, const HeadSizes& v);
Shape ShapeOf(const HeadSizes& heads);

/// Rows that the past has before K and V; 0 where none is given.
int64_t PastRows(const Tensor* past_key, const Tensor* past_value, const HeadSizes& k, const HeadSizes& v);

/// Dimensions of a mask along batch, heads, queries and keys: 1 where it has none.
using MaskDims = std::array<int64_t, 4>;
MaskDims ReadMask(const Shape& shape);
/// A mask of fewer keys hides the others, unless it broadcasts.
void CheckMask(const MaskDims& dims, const AttentionSizes& sizes, bool broadcasts);

/// Gives what has one batch, or one query, as many as the others have.
void BroadcastHeads(const MaskDims& mask, HeadSizes& q, HeadSizes& k, HeadSizes& v);

/// Keys of each batch, from nonpad_kv_seqlen; empty where it is not given.
std::span<const int64_t> KeyLengths(const Tensor* lengths, const AttentionSizes& sizes, bool has_past);

}  // namespace tessera
