#include "optimizer/analysis/tensor_contents.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/seeded_hash.h"

namespace tessera {
namespace {

constexpr size_t kSample = 256;  // bytes

/// Of type, shape and the first `most` bytes, or of strings until they have as many.
uint64_t HashOf(const Tensor& tensor, size_t most) noexcept {
  uint64_t hash = SeededHash(static_cast<uint64_t>(tensor.type()), 0);
  const auto dims = tensor.shape().dims();
  hash = SeededHash(dims.data(), dims.size_bytes(), hash);
  if (tensor.num_elements() == 0) return hash;
  if (!tensor.is(ElementType::kString)) return SeededHash(tensor.unaligned_raw(), std::min(tensor.byte_size(), most), hash);
  const std::string* const strings = tensor.data<std::string>();
  size_t seen = 0;
  for (int64_t i = 0; i < tensor.num_elements() && seen < most; ++i) {
    hash = SeededHash(strings[i], hash);
    seen += strings[i].size() + 1;
  }
  return hash;
}

}  // namespace

bool SameContents(const Tensor& a, const Tensor& b) noexcept {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.unaligned_raw() == b.unaligned_raw() || a.num_elements() == 0) return true;
  if (a.is(ElementType::kString)) {
    return std::equal(a.data<std::string>(), a.data<std::string>() + a.num_elements(), b.data<std::string>());
  }
  return std::memcmp(a.unaligned_raw(), b.unaligned_raw(), a.byte_size()) == 0;
}

uint64_t SampleHash(const Tensor& tensor) noexcept { return HashOf(tensor, kSample); }

uint64_t ContentsHash(const Tensor& tensor) noexcept { return HashOf(tensor, std::numeric_limits<size_t>::max()); }

}  // namespace tessera
