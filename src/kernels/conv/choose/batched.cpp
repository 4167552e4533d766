#include "kernels/conv/choose/batched.h"

#include <algorithm>

#include "base/rounding.h"

namespace tessera::cpu {
namespace {

/// That a GEMM should have, but for those of its last images.
int64_t RowsTogether(const BatchedGroupCosts& costs, int64_t row_bytes) {
  return costs.most_rows > 0 ? costs.most_rows : std::max(costs.near_bytes / row_bytes, costs.rows_apart);
}

double GroupNs(const BatchedGroupCosts& costs, const BatchedSizes& sizes, int64_t images) {
  const int64_t depth = sizes.taps * sizes.channels;
  const double moved = static_cast<double>(sizes.plane * sizes.channels + sizes.pixels * (depth + sizes.outputs)),
               multiplied = static_cast<double>(sizes.pixels * depth) * static_cast<double>(sizes.outputs);
  return static_cast<double>(images) * (moved * costs.move_ns + multiplied * costs.multiply_ns);
}

}  // namespace

BatchedGroups GroupImages(ConvTypes types, const BatchedSizes& sizes, int64_t threads) {
  const bool bytes = types == ConvTypes::kBytes || types == ConvTypes::kBytesToInt32;
  const BatchedGroupCosts& costs = bytes ? ConvCostsHere().byte_groups : ConvCostsHere().float_groups;
  const int64_t batch = sizes.batch;
  const int64_t most = std::clamp<int64_t>(RowsTogether(costs, sizes.taps * sizes.channels) / sizes.pixels, 1, batch);
  const bool apart = threads > 1 && batch >= threads && batch / threads * sizes.pixels >= costs.rows_apart;
  BatchedGroups groups{.shared = !apart && !(bytes && threads == 1), .images = most, .group_ns = 0};
  // Of bytes, the rows of all images take less memory than their weights.
  if (!groups.shared) groups.images = std::min(most, CeilDiv(batch, threads));
  else if (bytes) groups.images = batch;
  groups.group_ns = GroupNs(costs, sizes, groups.images);
  return groups;
}

}  // namespace tessera::cpu
