#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/bytes_owner.h"
#include "base/cancellation.h"
#include "base/fork.h"

namespace tessera {

/// Values that exist once for each key while somebody holds them. What one costs does not grow with the number of entries:
/// with the last user of a value its entry goes, so that nobody looks for such entries among all others. Outlives its
/// values: caches of a process are never destroyed.
template <class Key>
class LiveCache {
 public:
  using Value = std::shared_ptr<const void>;

  /// The live value of this key and owner, or what `make` returns, which may be null. Callers with other keys are not held
  /// up while it works; callers with the same one wait for it, until they are cancelled. `owner`: of what the key names by
  /// address, since another may have its address by now; null where the value keeps it alive.
  Value GetOrMake(const Key& key, const std::shared_ptr<const void>& owner, const std::function<Value()>& make);

  /// Live values.
  size_t size() const;
  /// All entries, also those whose value is being made.
  size_t entries() const;

 private:
  struct Entry {
    ForkMutex mutex{ForkMutex::Held::kLong};
    std::weak_ptr<const void> value;
    std::weak_ptr<const void> owner;
  };

  /// False also while the value is being made: that may take long.
  static bool IsLive(Entry& entry) {
    const std::unique_lock lock(entry.mutex, std::try_to_lock);
    return lock.owns_lock() && !entry.value.expired();
  }
  /// The load or run that waits for another's value may be cancelled meanwhile.
  static std::unique_lock<ForkMutex> Locked(Entry& entry) {
    constexpr std::chrono::milliseconds kLookEvery(2);
    std::unique_lock lock(entry.mutex, std::try_to_lock);
    while (!lock.owns_lock()) {
      CancellationPoint();
      std::this_thread::sleep_for(kLookEvery);
      lock.try_lock();
    }
    return lock;
  }
  std::shared_ptr<Entry> EntryOf(const Key& key);
  /// `made`, with whose last user its entry goes.
  Value Announced(Value made, const Key& key, const std::shared_ptr<Entry>& entry);
  /// Takes the entry away where it has no value any more.
  void Forget(const Key& key, const std::shared_ptr<Entry>& entry);

  mutable ForkMutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
};

template <class Key>
auto LiveCache<Key>::GetOrMake(const Key& key, const std::shared_ptr<const void>& owner, const std::function<Value()>& make)
    -> Value {
  const std::shared_ptr<Entry> entry = EntryOf(key);
  Value value;
  try {
    const auto lock = Locked(*entry);
    if (SameOwner(entry->owner, owner)) value = entry->value.lock();
    if (value == nullptr) {
      if (Value made = make(); made != nullptr) value = Announced(std::move(made), key, entry);
      entry->value = value;
      entry->owner = owner;
    }
  } catch (...) {
    Forget(key, entry);
    throw;
  }
  if (value == nullptr) Forget(key, entry);
  return value;
}

template <class Key>
auto LiveCache<Key>::EntryOf(const Key& key) -> std::shared_ptr<Entry> {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Entry>& entry = entries_[key];
  if (entry == nullptr) {
    try {
      entry = std::make_shared<Entry>();
    } catch (...) {
      entries_.erase(key);
      throw;
    }
  }
  return entry;
}

template <class Key>
auto LiveCache<Key>::Announced(Value made, const Key& key, const std::shared_ptr<Entry>& entry) -> Value {
  const void* const address = made.get();
  // The key is copied here, so that the deleter moves without asking for memory.
  return Value(address,
               [this, made = std::move(made), key = Key(key), weak = std::weak_ptr<Entry>(entry)](const void*) mutable {
                 if (const std::shared_ptr<Entry> mine = weak.lock(); mine != nullptr) Forget(key, mine);
                 made.reset();
               });
}

template <class Key>
void LiveCache<Key>::Forget(const Key& key, const std::shared_ptr<Entry>& entry) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  // Whoever else holds the entry is about to make a value for it, or to use one.
  constexpr long kHeldHere = 2;  // by the map, and by the caller
  if (found == entries_.end() || found->second != entry || entry.use_count() > kHeldHere || IsLive(*entry)) return;
  entries_.erase(found);
}

template <class Key>
size_t LiveCache<Key>::size() const {
  const std::lock_guard lock(mutex_);
  size_t live = 0;
  for (const auto& [key, entry] : entries_) live += IsLive(*entry) ? 1 : 0;
  return live;
}

template <class Key>
size_t LiveCache<Key>::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace tessera
