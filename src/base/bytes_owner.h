#pragma once

#include <memory>

#include "tessera/value.h"

namespace tessera {

/// Who keeps the bytes that `constant` has at unaligned_raw(). Those in a mapped file are the mapping's, whatever their
/// alignment: sessions of one file have the same. Null for a view of memory that nobody keeps.
std::shared_ptr<const void> OwnerOfBytes(const Tensor& constant);

/// Whether `held`, which may be gone, was of `owner`: another may have its address by now.
inline bool SameOwner(const std::weak_ptr<const void>& held, const std::shared_ptr<const void>& owner) {
  return !held.owner_before(owner) && !owner.owner_before(held);
}

}  // namespace tessera
