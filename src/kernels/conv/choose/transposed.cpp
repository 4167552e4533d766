#include "kernels/conv/choose/transposed.h"

#include <algorithm>
#include <numeric>

#include "base/rounding.h"
#include "kernels/conv/choose/costs.h"

namespace tessera::cpu {
namespace {

/// GEMMs of one image have few columns for the weights that they read.
bool JoinsImages(const TransposedSizes& sizes, const TransposedLimits& limits) {
  return sizes.batch > 1 && sizes.columns > 0 && sizes.columns <= limits.joined_columns &&
         sizes.batch * sizes.columns <= 4 * limits.joined_columns;
}

/// Output channels whose contributions fit the cache, enough of them for an efficient GEMM.
int64_t ChooseBlock(const TransposedSizes& sizes, int64_t images, int64_t threads, const TransposedLimits& limits) {
  // An input that every block reads from the third cache again is worth a buffer there.
  const bool far = sizes.channels * sizes.columns * images * sizes.element_bytes > limits.near_bytes;
  const int64_t least = CeilDiv(
      far ? std::clamp(sizes.channels / 2, limits.least_rows, limits.rows_from_afar) : limits.least_rows, sizes.taps);
  const int64_t fits =
      limits.block_bytes / (sizes.element_bytes * std::max<int64_t>(sizes.taps * sizes.columns * images, 1));
  int64_t block = std::max(fits, least);
  if (threads > 1) {
    const int64_t all = sizes.batch / images * sizes.groups * sizes.outputs;
    block = std::min(block, std::max(CeilDiv(limits.row_unit, sizes.taps), all / (3 * threads)));
  }
  const int64_t unit = limits.row_unit / std::gcd(sizes.taps, limits.row_unit);
  if (unit <= block + 1) block = RoundUp(block, unit);
  return std::clamp<int64_t>(block, 1, sizes.outputs);
}

}  // namespace

ConvAlgorithm ChooseTransposed(const Window& window, int64_t group_channels) {
  bool pointwise = window.kernel.num_elements() == 1;
  for (size_t i = 0; i < window.rank(); ++i) {
    pointwise = pointwise && window.input[i] == window.output[i] && window.begin[i] == 0 &&
                (window.strides[i] == 1 || window.output[i] == 1);
  }
  if (pointwise && group_channels > 0) return ConvAlgorithm::kGemm;
  return GathersTransposed(group_channels) || window.output.num_elements() == 0 ? ConvAlgorithm::kGather
                                                                                : ConvAlgorithm::kCol2im;
}

bool GathersTransposed(int64_t group_channels) { return group_channels <= ConvCostsHere().transposed.gathered_channels; }

TransposedBlocks DivideTransposed(const TransposedSizes& sizes, int64_t threads) {
  const TransposedLimits& limits = ConvCostsHere().transposed;
  const int64_t images = JoinsImages(sizes, limits) ? sizes.batch : 1,
                outputs = ChooseBlock(sizes, images, threads, limits),
                blocks = sizes.batch / images * sizes.groups * CeilDiv(sizes.outputs, outputs);
  return {.images = images, .outputs = outputs, .afterwards = threads > 1 && blocks < 2 * threads};
}

}  // namespace tessera::cpu
