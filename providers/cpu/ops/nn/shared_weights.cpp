#include "cpu/ops/nn/shared_weights.h"

#include <algorithm>

#include "base/byte_stream.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "kernels/gemm/gemm_u8s8_kernels.h"
#include "kernels/gemm/tile_unit.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kCacheLine = 64;  // of the cache: the alignment of records

/// In a flat form: the size of the description and it, the values, the extras, each aligned to a cache line.
Tensor Flatten(const PackedWeightsS8& packed) {
  ByteWriter description;
  for (const int64_t number : {packed.n, packed.k, packed.width, packed.depth, packed.segments, packed.block_bytes})
    description.Put(number);
  description.Put(static_cast<int64_t>(packed.tiles));
  description.PutList(std::span(packed.extra_begin));
  description.PutList(std::span(packed.extra_group));
  description.PutList(std::span(packed.outlier_begin));
  description.PutList(std::span(packed.outliers));
  description.PutList(std::span(packed.sums));
  description.PutList(std::span(packed.offsets));
  const auto size = static_cast<int64_t>(description.bytes().size());
  const int64_t values = RoundUp(size + static_cast<int64_t>(sizeof(size)), kCacheLine);
  const int64_t extras = RoundUp(values + static_cast<int64_t>(packed.values.byte_size()), kCacheLine);
  Tensor flat(ElementType::kUInt8, Shape{extras + static_cast<int64_t>(packed.extras.byte_size())});
  auto* to = flat.mutable_data<uint8_t>();
  std::memset(to, 0, flat.byte_size());
  std::memcpy(to, &size, sizeof(size));
  std::memcpy(to + sizeof(size), description.bytes().data(), description.bytes().size());
  std::memcpy(to + values, packed.values.raw(), packed.values.byte_size());
  if (packed.extras.byte_size() > 0) std::memcpy(to + extras, packed.extras.raw(), packed.extras.byte_size());
  return flat;
}

void CheckHeld(bool good) {
  if (!good) ByteReader::Damaged();
}

/// Where each of `count` parts of `total` entries begins, and the end.
bool AreBounds(const std::vector<int64_t>& begin, int64_t count, size_t total) {
  return begin.size() == static_cast<size_t>(count) + 1 && begin.front() == 0 &&
         begin.back() == static_cast<int64_t>(total) && std::ranges::is_sorted(begin);
}

/// What does not fill tiles is in one of each panel.
void CheckTiles(const PackedWeightsS8& packed, PanelLayout side) {
  const int64_t groups = packed.groups(), of_tile = std::min(groups, kTileGroups), whole = groups / of_tile * of_tile,
                left = whole == groups ? 0 : kTileGroups;
  CheckHeld(KernelsU8S8().packing == U8S8Packing::kTiles && packed.depth == 1 && packed.width == 2 * kTileColumns &&
            packed.segments == (side == PanelLayout::kBroadcast ? whole : groups) && packed.outliers.empty());
  for (size_t panel = 0; panel < packed.extra_begin.size(); ++panel)
    CheckHeld(packed.extra_begin[panel] == static_cast<int64_t>(panel) * left);
  for (size_t i = 0; i < packed.extra_group.size(); ++i)
    CheckHeld(packed.extra_group[i] == groups - left + static_cast<int64_t>(i) % left);
}

/// Panels of the width that kernels here step by, whose segments are all groups but those that do not fill one.
void CheckPanels(const PackedWeightsS8& packed, PanelLayout side) {
  const bool broadcast = side == PanelLayout::kBroadcast, has_tiles = KernelsU8S8().packing == U8S8Packing::kTiles;
  CheckHeld(broadcast || !has_tiles);  // tiles leave nothing else to dot products
  const U8S8Kernels kernels = has_tiles ? DotKernelsU8S8(false) : KernelsU8S8();
  const bool pairs = kernels.packing == U8S8Packing::kPairs;
  CheckHeld(pairs ? packed.depth >= (side == PanelLayout::kPaddedRows ? kLeastDepth : 0) && packed.depth <= kMostDepth
                  : packed.depth == 1);
  CheckHeld(packed.width == (!broadcast ? kernels.width : packed.wide() ? kernels.wide_rows : kernels.rows));
  CheckHeld(packed.segments == (packed.wide() ? packed.groups() : packed.groups() / packed.depth));
  const bool keeps_out = pairs && !packed.wide(), sparse = side == PanelLayout::kVectors;
  CheckHeld((keeps_out && !sparse) || packed.extra_group.empty());
  CheckHeld((keeps_out && sparse) || packed.outliers.empty());
}

/// Kernels use every index: none may be out of range.
void CheckPacked(const PackedWeightsS8& packed, const PackedKind& kind) {
  CheckHeld(KernelsU8S8().available && packed.n > 0 && packed.n == kind.n && packed.k > 0 && packed.k == kind.k);
  CheckHeld(packed.width > 0);
  CheckHeld(AreBounds(packed.extra_begin, CeilDiv(packed.n, packed.width), packed.extra_group.size()));
  packed.tiles ? CheckTiles(packed, kind.side) : CheckPanels(packed, kind.side);
  CheckHeld(packed.block_bytes == packed.segments * packed.records() * 4 * packed.width);
  CheckHeld(std::ranges::all_of(packed.extra_group, [&](int64_t group) { return group >= 0 && group < packed.groups(); }));
  CheckHeld(packed.outlier_begin.empty() ? packed.outliers.empty()
                                         : AreBounds(packed.outlier_begin, packed.n, packed.outliers.size()));
  CheckHeld(std::ranges::all_of(packed.outliers,
                                [&](const Outlier& one) { return one.pair >= 0 && one.pair < (packed.k + 1) / 2; }));
  const auto count = static_cast<size_t>(packed.n);
  CheckHeld(packed.sums.size() == count && packed.offsets.size() == count);
}

/// Packed weights over the flat form's records, which lives as long. Throws Error where it is damaged or of another kind.
std::shared_ptr<const PackedWeightsS8> Unflatten(const std::shared_ptr<const Tensor>& flat, const PackedKind& kind) {
  int64_t size = 0;
  const auto bytes = std::span(static_cast<const std::byte*>(flat->raw()), flat->byte_size());
  CheckHeld(bytes.size() >= sizeof(size));
  std::memcpy(&size, bytes.data(), sizeof(size));
  CheckHeld(size >= 0 && static_cast<size_t>(size) <= bytes.size() - sizeof(size));
  ByteReader in(bytes.subspan(sizeof(size), static_cast<size_t>(size)));
  auto packed = std::make_shared<PackedWeightsS8>();
  for (int64_t* number : {&packed->n, &packed->k, &packed->width, &packed->depth, &packed->segments, &packed->block_bytes})
    *number = in.Get<int64_t>();
  packed->tiles = in.Get<int64_t>() != 0;
  packed->extra_begin = in.GetList<int64_t>();
  packed->extra_group = in.GetList<int64_t>();
  packed->outlier_begin = in.GetList<int64_t>();
  packed->outliers = in.GetList<Outlier>();
  packed->sums = in.GetList<int32_t>();
  packed->offsets = in.GetList<int32_t>();
  CheckPacked(*packed, kind);
  int64_t at = RoundUp(size + static_cast<int64_t>(sizeof(size)), kCacheLine);
  const auto read = [&](const Shape& shape) {
    CheckHeld(at <= static_cast<int64_t>(bytes.size()) && shape.num_elements() <= static_cast<int64_t>(bytes.size()) - at);
    auto* data = const_cast<std::byte*>(bytes.data() + at);
    at = RoundUp(at + shape.num_elements(), kCacheLine);
    return Tensor::Share(ElementType::kInt8, shape, data, std::const_pointer_cast<Tensor>(flat));
  };
  packed->values = read({CeilDiv(packed->n, packed->width), packed->block_bytes});
  packed->extras = read({packed->extra_begin.back(), 4 * packed->width});
  return packed;
}

/// Packed weights that count against the limit of the load that made them for as long as any session has them. How much
/// that is shows when they are packed: each weight and each outlier need no more than four bytes.
std::shared_ptr<const PackedWeightsS8> MakeCounted(const KernelInfo& info, const Tensor& constant,
                                                   const std::function<std::shared_ptr<const PackedWeightsS8>()>& make) {
  struct CountedWeights {
    MemoryCharge charge;
    std::shared_ptr<const PackedWeightsS8> packed;
  };
  auto counted = std::make_shared<CountedWeights>();
  counted->charge = MemoryCharge(info.allocator(), CheckedMul<size_t>(constant.byte_size(), 4));
  counted->packed = make();
  if (counted->packed == nullptr) return nullptr;
  const size_t bytes = counted->packed->values.byte_size() + counted->packed->extras.byte_size();
  counted->charge = MemoryCharge();
  counted->charge = MemoryCharge(info.allocator(), bytes);
  return {counted, counted->packed.get()};
}

}  // namespace

std::shared_ptr<const PackedWeightsS8> SharedWeights(const KernelInfo& info, const Tensor& constant, std::string_view key,
                                                     const PackedKind& kind,
                                                     const std::function<std::shared_ptr<const PackedWeightsS8>()>& make) {
  PackedStore* store = StoreOf(info);
  const std::string form = FormKey(constant, key);
  constexpr ElementType kFlat[] = {ElementType::kUInt8};
  if (store != nullptr) {
    if (const auto held = store->Find(constant, form, kFlat, std::nullopt)) return Unflatten(held, kind);
  }
  auto packed = std::static_pointer_cast<const PackedWeightsS8>(info.SharedPrepack(
      constant, form, [&]() -> std::shared_ptr<const void> { return MakeCounted(info, constant, make); }));
  if (store != nullptr && store->keeps() && packed != nullptr)
    store->Add(constant, form, std::make_shared<Tensor>(Flatten(*packed)));
  return packed;
}

}  // namespace tessera::cpu
