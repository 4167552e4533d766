#include "cpu/ops/nn/shared_weights.h"

#include <algorithm>

#include "base/byte_stream.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kLine = 64;  // of the cache: the alignment of records

/// In a flat form: the size of the description and it, the values, the extras, each aligned to a cache line.
Tensor Flatten(const PackedWeightsS8& lines) {
  ByteWriter description;
  for (const int64_t number : {lines.lines, lines.k, lines.width, lines.depth, lines.segments, lines.block_bytes})
    description.Put(number);
  description.PutList(std::span(lines.extra_begin));
  description.PutList(std::span(lines.extra_group));
  description.PutList(std::span(lines.correction_begin));
  description.PutList(std::span(lines.corrections));
  description.PutList(std::span(lines.sums));
  description.PutList(std::span(lines.offsets));
  const auto size = static_cast<int64_t>(description.bytes().size());
  const int64_t values = RoundUp(size + static_cast<int64_t>(sizeof(size)), kLine);
  const int64_t extras = RoundUp(values + static_cast<int64_t>(lines.values.byte_size()), kLine);
  Tensor flat(ElementType::kUInt8, Shape{extras + static_cast<int64_t>(lines.extras.byte_size())});
  auto* to = flat.mutable_data<uint8_t>();
  std::memset(to, 0, flat.byte_size());
  std::memcpy(to, &size, sizeof(size));
  std::memcpy(to + sizeof(size), description.bytes().data(), description.bytes().size());
  std::memcpy(to + values, lines.values.raw(), lines.values.byte_size());
  if (lines.extras.byte_size() > 0) std::memcpy(to + extras, lines.extras.raw(), lines.extras.byte_size());
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

/// Kernels use every index: none may be out of range.
void CheckLines(const PackedWeightsS8& lines) {
  constexpr int64_t kMostWidth = 1024, kMostDepth = 16;
  CheckHeld(lines.lines > 0 && lines.k > 0 && lines.lines <= INT32_MAX && lines.k <= INT32_MAX);
  CheckHeld(lines.width > 0 && lines.width <= kMostWidth && lines.depth >= 0 && lines.depth <= kMostDepth);
  CheckHeld(lines.segments >= 0 && lines.segments <= lines.k);
  CheckHeld(lines.block_bytes == lines.segments * lines.records() * 4 * lines.width);
  CheckHeld(AreBounds(lines.extra_begin, CeilDiv(lines.lines, lines.width), lines.extra_group.size()));
  CheckHeld(std::ranges::all_of(lines.extra_group, [&](int64_t group) { return group >= 0 && group < lines.groups(); }));
  CheckHeld(lines.correction_begin.empty() ? lines.corrections.empty()
                                           : AreBounds(lines.correction_begin, lines.lines, lines.corrections.size()));
  CheckHeld(std::ranges::all_of(lines.corrections,
                                [&](const Outlier& one) { return one.pair >= 0 && one.pair < (lines.k + 1) / 2; }));
  const auto count = static_cast<size_t>(lines.lines);
  CheckHeld(lines.sums.size() == count && lines.offsets.size() == count);
}

/// Packed weights over the flat form's records, which lives as long. Throws Error where it is damaged.
std::shared_ptr<const PackedWeightsS8> Unflatten(const std::shared_ptr<const Tensor>& flat) {
  int64_t size = 0;
  const auto bytes = std::span(static_cast<const std::byte*>(flat->raw()), flat->byte_size());
  CheckHeld(bytes.size() >= sizeof(size));
  std::memcpy(&size, bytes.data(), sizeof(size));
  CheckHeld(size >= 0 && static_cast<size_t>(size) <= bytes.size() - sizeof(size));
  ByteReader in(bytes.subspan(sizeof(size), static_cast<size_t>(size)));
  auto lines = std::make_shared<PackedWeightsS8>();
  for (int64_t* number : {&lines->lines, &lines->k, &lines->width, &lines->depth, &lines->segments, &lines->block_bytes})
    *number = in.Get<int64_t>();
  lines->extra_begin = in.GetList<int64_t>();
  lines->extra_group = in.GetList<int64_t>();
  lines->correction_begin = in.GetList<int64_t>();
  lines->corrections = in.GetList<Outlier>();
  lines->sums = in.GetList<int32_t>();
  lines->offsets = in.GetList<int32_t>();
  CheckLines(*lines);
  int64_t at = RoundUp(size + static_cast<int64_t>(sizeof(size)), kLine);
  const auto take = [&](const Shape& shape) {
    CheckHeld(at <= static_cast<int64_t>(bytes.size()) && shape.num_elements() <= static_cast<int64_t>(bytes.size()) - at);
    auto* data = const_cast<std::byte*>(bytes.data() + at);
    at = RoundUp(at + shape.num_elements(), kLine);
    return Tensor::Share(ElementType::kInt8, shape, data, std::const_pointer_cast<Tensor>(flat));
  };
  lines->values = take({CeilDiv(lines->lines, lines->width), lines->block_bytes});
  lines->extras = take({lines->extra_begin.back(), 4 * lines->width});
  return lines;
}

/// Packed weights that count against the limit of the load that made them for as long as any session has them. How much
/// that is shows when they are packed: each weight and each outlier need no more than four bytes.
std::shared_ptr<const PackedWeightsS8> MakeCounted(const KernelInfo& info, const Tensor& constant,
                                                   const std::function<std::shared_ptr<const PackedWeightsS8>()>& make) {
  struct CountedLines {
    MemoryCharge charge;
    std::shared_ptr<const PackedWeightsS8> lines;
  };
  auto counted = std::make_shared<CountedLines>();
  counted->charge = MemoryCharge(info.allocator(), CheckedMul<size_t>(constant.byte_size(), 4));
  counted->lines = make();
  if (counted->lines == nullptr) return nullptr;
  const size_t bytes = counted->lines->values.byte_size() + counted->lines->extras.byte_size();
  counted->charge = MemoryCharge();
  counted->charge = MemoryCharge(info.allocator(), bytes);
  return {counted, counted->lines.get()};
}

}  // namespace

std::shared_ptr<const PackedWeightsS8> SharedWeights(const KernelInfo& info, const Tensor& constant, std::string_view key,
                                                     const std::function<std::shared_ptr<const PackedWeightsS8>()>& make) {
  PackedStore* store = StoreOf(info);
  const std::string form = FormKey(constant, key);
  constexpr ElementType kFlat[] = {ElementType::kUInt8};
  if (store != nullptr) {
    if (const auto held = store->Find(constant, form, kFlat, std::nullopt)) return Unflatten(held);
  }
  auto lines = std::static_pointer_cast<const PackedWeightsS8>(info.SharedPrepack(
      constant, form, [&]() -> std::shared_ptr<const void> { return MakeCounted(info, constant, make); }));
  if (store != nullptr && store->keeps() && lines != nullptr)
    store->Add(constant, form, std::make_shared<Tensor>(Flatten(*lines)));
  return lines;
}

}  // namespace tessera::cpu
