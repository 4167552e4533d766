#include "runtime/prepack_cache.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes_owner.h"

namespace tessera {
namespace {

/// A constant is told by its bytes' place, its type and its shape; the owner is compared too, because a freed place may be used again.
using Key = std::tuple<const void*, ElementType, std::vector<int64_t>, std::string>;

Key KeyOf(const Tensor& constant, std::string_view key) {
  const auto dims = constant.shape().dims();
  return {constant.unaligned_raw(), constant.type(), {dims.begin(), dims.end()}, std::string(key)};
}

struct Entry {
  std::mutex mutex;
  std::weak_ptr<const void> value;
  std::weak_ptr<const void> owner;
};

/// False also while the value is being made: that may take long.
bool IsLive(Entry& entry) {
  const std::unique_lock lock(entry.mutex, std::try_to_lock);
  return lock.owns_lock() && !entry.value.expired();
}

}  // namespace

struct PrepackCache::Entries {
  mutable std::mutex mutex;
  std::map<Key, std::shared_ptr<Entry>> by_key;
};

PrepackCache::PrepackCache() : entries_(std::make_unique<Entries>()) {}
PrepackCache::~PrepackCache() = default;

PrepackCache& PrepackCache::Process() {
  static PrepackCache& cache = *new PrepackCache;  // outlives every session, also static ones
  return cache;
}

std::shared_ptr<const void> PrepackCache::GetOrMake(const Tensor& constant, std::string_view key,
                                                    const std::function<std::shared_ptr<const void>()>& make) {
  const std::shared_ptr<const void> owner = OwnerOfBytes(constant);
  if (owner == nullptr) return make();
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(entries_->mutex);
    std::erase_if(entries_->by_key, [](const auto& item) { return item.second.use_count() == 1 && !IsLive(*item.second); });
    auto& slot = entries_->by_key[KeyOf(constant, key)];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  const std::lock_guard lock(entry->mutex);
  std::shared_ptr<const void> value = SameOwner(entry->owner, owner) ? entry->value.lock() : nullptr;
  if (value == nullptr) {
    value = make();
    entry->value = value;
    entry->owner = owner;
  }
  return value;
}

size_t PrepackCache::size() const {
  const std::lock_guard lock(entries_->mutex);
  size_t live = 0;
  for (const auto& [key, entry] : entries_->by_key) live += IsLive(*entry) ? 1 : 0;
  return live;
}

}  // namespace tessera
