#include "optimizer/tensor_contents.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

namespace tessera {
namespace {

constexpr size_t kSample = 256;  // bytes

uint64_t Mix(uint64_t hash, uint64_t value) noexcept { return (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29); }

}  // namespace

bool SameContents(const Tensor& a, const Tensor& b) noexcept {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.unaligned_raw() == b.unaligned_raw() || a.num_elements() == 0) return true;
  if (a.is(ElementType::kString)) {
    return std::equal(a.data<std::string>(), a.data<std::string>() + a.num_elements(), b.data<std::string>());
  }
  return std::memcmp(a.unaligned_raw(), b.unaligned_raw(), a.byte_size()) == 0;
}

uint64_t ContentsHash(const Tensor& tensor) noexcept {
  uint64_t hash = Mix(0, static_cast<uint64_t>(tensor.type()));
  for (const int64_t dim : tensor.shape()) hash = Mix(hash, static_cast<uint64_t>(dim));
  if (tensor.num_elements() == 0) return hash;
  if (tensor.is(ElementType::kString)) return Mix(hash, std::hash<std::string>()(*tensor.data<std::string>()));
  const std::string_view bytes(static_cast<const char*>(tensor.unaligned_raw()), std::min(tensor.byte_size(), kSample));
  return Mix(hash, std::hash<std::string_view>()(bytes));
}

}  // namespace tessera
