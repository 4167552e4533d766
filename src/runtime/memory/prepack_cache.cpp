#include "runtime/memory/prepack_cache.h"

#include <string>
#include <tuple>
#include <vector>

#include "base/live_cache.h"

namespace tessera {
namespace {

/// A constant is told by its bytes' place, its type and its shape.
using Key = std::tuple<const void*, ElementType, std::vector<int64_t>, std::string>;

Key KeyOf(const Tensor& constant, std::string_view key) {
  const auto dims = constant.shape().dims();
  return {constant.unaligned_raw(), constant.type(), {dims.begin(), dims.end()}, std::string(key)};
}

}  // namespace

struct PrepackCache::Entries : LiveCache<Key> {};

PrepackCache::PrepackCache() : entries_(std::make_unique<Entries>()) {}
PrepackCache::~PrepackCache() = default;

PrepackCache& PrepackCache::Process() {
  static PrepackCache& cache = *new PrepackCache;  // outlives every session, also static ones
  return cache;
}

std::shared_ptr<const void> PrepackCache::GetOrMake(const Tensor& constant, std::string_view key,
                                                    const std::function<std::shared_ptr<const void>()>& make) {
  const std::shared_ptr<const void> owner = OwnerOfBytes(constant);
  return owner == nullptr ? make() : entries_->GetOrMake(KeyOf(constant, key), owner, make);
}

size_t PrepackCache::size() const { return entries_->size(); }
size_t PrepackCache::entries() const { return entries_->entries(); }

}  // namespace tessera
