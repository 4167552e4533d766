#include "runtime/memory/prepack_cache.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes_owner.h"
#include "base/fork.h"

namespace tessera {
namespace {

/// A constant is told by its bytes' place, its type and its shape; the owner is compared too, because a freed place may be
/// used again.
using Key = std::tuple<const void*, ElementType, std::vector<int64_t>, std::string>;

Key KeyOf(const Tensor& constant, std::string_view key) {
  const auto dims = constant.shape().dims();
  return {constant.unaligned_raw(), constant.type(), {dims.begin(), dims.end()}, std::string(key)};
}

struct Entry {
  ForkMutex mutex{ForkMutex::Held::kLong};
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
  mutable ForkMutex mutex;
  std::map<Key, std::shared_ptr<Entry>> by_key;

  /// Takes the entry away where it has no value any more.
  void Forget(const Key& key, const std::shared_ptr<Entry>& entry);
};

void PrepackCache::Entries::Forget(const Key& key, const std::shared_ptr<Entry>& entry) {
  const std::lock_guard lock(mutex);
  const auto found = by_key.find(key);
  // Whoever else holds the entry is about to make a value for it, or to use one.
  constexpr long kHeldHere = 2;  // by the map, and by the caller
  if (found == by_key.end() || found->second != entry || entry.use_count() > kHeldHere || IsLive(*entry)) return;
  by_key.erase(found);
}

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
  const Key place = KeyOf(constant, key);
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(entries_->mutex);
    const auto found = entries_->by_key.find(place);
    entry = found != entries_->by_key.end() ? found->second : std::make_shared<Entry>();
    if (found == entries_->by_key.end()) entries_->by_key.emplace(place, entry);
  }
  // With the last user of a value its entry goes: nobody has to look for such entries among all others.
  const auto announced = [&](std::shared_ptr<const void> made) {
    const void* const address = made.get();
    return std::shared_ptr<const void>(address, [entries = entries_.get(), made = std::move(made), place = Key(place),
                                                 weak = std::weak_ptr<Entry>(entry)](const void*) mutable {
      if (const std::shared_ptr<Entry> mine = weak.lock(); mine != nullptr) entries->Forget(place, mine);
      made.reset();
    });
  };
  std::shared_ptr<const void> value;
  try {
    const std::lock_guard lock(entry->mutex);
    if (SameOwner(entry->owner, owner)) value = entry->value.lock();
    if (value == nullptr) {
      if (auto made = make(); made != nullptr) value = announced(std::move(made));
      entry->value = value;
      entry->owner = owner;
    }
  } catch (...) {
    entries_->Forget(place, entry);
    throw;
  }
  if (value == nullptr) entries_->Forget(place, entry);
  return value;
}

size_t PrepackCache::size() const {
  const std::lock_guard lock(entries_->mutex);
  size_t live = 0;
  for (const auto& [key, entry] : entries_->by_key) live += IsLive(*entry) ? 1 : 0;
  return live;
}

size_t PrepackCache::entries() const {
  const std::lock_guard lock(entries_->mutex);
  return entries_->by_key.size();
}

}  // namespace tessera
