#include "onednn/program/primitives.h"

#include <algorithm>

#include "base/check.h"

namespace tessera::onednn {
namespace {

/// A layout of dense or blocked elements, as oneDNN 2.6 and 3.x both describe it.
struct Blocking {
  Dims dims, padded, strides, inner_blocks, inner_dims;
  int64_t offset = 0;
};

#if DNNL_VERSION_MAJOR >= 3
std::optional<Blocking> BlockingOf(const Desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return std::nullopt;
  return Blocking{desc.get_dims(),       desc.get_padded_dims(), desc.get_strides(),
                  desc.get_inner_blks(), desc.get_inner_idxs(),  desc.get_submemory_offset()};
}
#else
std::optional<Blocking> BlockingOf(const Desc& desc) {
  const auto& data = desc.data;
  if (data.format_kind != dnnl_blocked || data.extra.flags != 0) return std::nullopt;
  const auto& blocking = data.format_desc.blocking;
  const auto take = [](const auto* from, int count) { return Dims(from, from + count); };
  return Blocking{take(data.dims, data.ndims),
                  take(data.padded_dims, data.ndims),
                  take(blocking.strides, data.ndims),
                  take(blocking.inner_blks, blocking.inner_nblks),
                  take(blocking.inner_idxs, blocking.inner_nblks),
                  data.offset0};
}
#endif

}  // namespace

std::optional<size_t> OffsetInside(const Desc& whole, const Desc& part, const Dims& offsets) {
  if (TypeOf(whole) != TypeOf(part)) return std::nullopt;
  const auto outer = BlockingOf(whole), inner = BlockingOf(part);
  if (!outer || !inner || outer->offset != 0 || inner->offset != 0 || outer->dims.size() != inner->dims.size())
    return std::nullopt;
  if (outer->inner_blocks != inner->inner_blocks || outer->inner_dims != inner->inner_dims ||
      inner->padded != inner->dims) {
    return std::nullopt;
  }
  int64_t offset = 0;
  for (size_t i = 0; i < inner->dims.size(); ++i) {
    int64_t block = 1;
    for (size_t k = 0; k < inner->inner_dims.size(); ++k) {
      if (inner->inner_dims[k] == static_cast<int64_t>(i)) block *= inner->inner_blocks[k];
    }
    if (offsets[i] % block != 0) return std::nullopt;
    if (inner->dims[i] > block && inner->strides[i] != outer->strides[i]) return std::nullopt;
    offset += offsets[i] / block * outer->strides[i];
  }
  return static_cast<size_t>(offset) * dnnl::memory::data_type_size(TypeOf(part));
}

std::optional<SubMemory> BoxInside(const Desc& whole, const Dims& first, const Dims& count) {
  const auto layout = BlockingOf(whole);
  if (!layout || layout->offset != 0) return std::nullopt;
  int64_t offset = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] == 0 && count[i] == layout->dims[i]) continue;
    int64_t block = 1;
    for (size_t k = 0; k < layout->inner_dims.size(); ++k) {
      if (layout->inner_dims[k] == static_cast<int64_t>(i)) block *= layout->inner_blocks[k];
    }
    if (first[i] % block != 0 || count[i] % block != 0) return std::nullopt;
    offset += first[i] / block * layout->strides[i];
  }
  return SubMemory{whole.submemory_desc(count, Dims(first.size(), 0)),
                   static_cast<size_t>(offset) * dnnl::memory::data_type_size(TypeOf(whole))};
}

#if DNNL_VERSION_MAJOR >= 3
std::string LayoutKey(const Desc& desc) {
  const auto layout = BlockingOf(desc);
  Require(layout.has_value(), "oneDNN keeps a layout to itself");
  std::string key;
  const auto add = [&](int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  add(static_cast<int64_t>(TypeOf(desc)));
  add(static_cast<int64_t>(desc.get_size()));  // sums behind byte weights count here only
  add(layout->offset);
  for (const Dims* numbers :
       {&layout->dims, &layout->padded, &layout->strides, &layout->inner_blocks, &layout->inner_dims}) {
    add(static_cast<int64_t>(numbers->size()));
    for (int64_t number : *numbers) add(number);
  }
  return key;
}
#else
std::string LayoutKey(const Desc& desc) {
  return std::string(reinterpret_cast<const char*>(&desc.data), sizeof(desc.data));
}
#endif

}  // namespace tessera::onednn
