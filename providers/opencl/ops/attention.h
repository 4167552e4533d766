#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opencl/device/kernel.h"

namespace tessera::opencl {

inline constexpr size_t kAttentionLanes = 64;

/// The same struct stands in attention.cl. Strides are of batch, head and row of a [batch, head, row, element] tensor.
struct AttentionProblem {
  cl_long batch, q_heads, kv_heads, queries, keys, width, value_width;
  cl_long q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, y_batch, y_head, y_row;
  cl_long m_batch, m_head, m_row, m_key, m_keys, offset, left, right;
  cl_int causal, stage;
  cl_float scale, softcap;
  cl_float nothing;   // what rows give of which the mask leaves nothing
  cl_int slices = 1;  // of the keys: ScaledDotProduct decides
};

struct AttentionTypes {
  ElementType q, k, v, y;
  ElementType mask = ElementType::kFloat, captured = ElementType::kFloat;
};

/// What attention.cl wants defined.
std::string AttentionDefines(const AttentionTypes& types);

/// What the graph states of a node's inputs 0 to 2, each [batch, heads, rows, elements] or [batch, rows, heads * elements].
struct KnownHeads {
  /// Without input 2, values are as wide as queries.
  KnownHeads(const KernelInfo& info, int64_t q_heads, int64_t kv_heads);
  std::optional<int64_t> width, value_width;  // of a head
  std::optional<int64_t> queries;
};

/// Attention of every query, the way that suits the device.
class ScaledDotProduct {
 public:
  static constexpr cl_long kStep = 16,
                           kMostValues = 256;  // elements at a time, and of a row, where a work item has a whole row
  static constexpr cl_long kRows = 32, kRowsTogether = 4;  // of queries, where it has several

  /// Kernels that the known sizes ask for are compiled now.
  ScaledDotProduct(const KernelInfo& info, const AttentionTypes& types, const KnownHeads& known);
  void Run(KernelContext& context, const BufferRange& q, const BufferRange& k, const BufferRange& v, const Tensor* mask,
           const BufferRange& lengths, const Tensor& y, const AttentionProblem& problem);

 private:
  /// Rows of queries, and of keys, in local memory at a time, and work items of a query row, in tiles.
  static constexpr int64_t kQueries = 16, kKeys = 32, kParts = 8, kWidthStep = 32, kMostWidth = 128;
  static constexpr int64_t kFewQueries = 3;  // of which a tile would be mostly empty

  /// A kernel for tiles of rows so long, longer ones by the next multiple of kWidthStep; null where there is none.
  Launchable* TileKernel(int64_t width);

  /// Whether keys are put in order for several rows of queries.
  static bool HasRows(int64_t queries, int64_t width) {
    constexpr int64_t kFewestRows = 6;
    return queries >= kFewestRows && width <= kMostValues;
  }

  /// Attention by `kernel` over {rows of queries in items, keys in slices, heads}, `rows` of them in each group of `local`
  /// items.
  void RunSliced(KernelContext& context, LazyLaunchable& kernel, size_t local, int64_t rows, const BufferRange& q,
                 const BufferRange& k, const BufferRange& v, const Tensor* mask, const BufferRange& lengths,
                 const Tensor& y, AttentionProblem p);

  Device& device_;
  const size_t element_bytes_;  // of what is computed in
  const bool by_rows_;          // of a work item: on processors
  LazyLaunchable attend_, attend_row_, attend_rows_, join_slices_;
  std::vector<std::unique_ptr<LazyLaunchable>> tiles_;
};

}  // namespace tessera::opencl
