#pragma once

#include <memory>

#include "tessera/value.h"

namespace tessera {

/// Who keeps the bytes that `constant` has at unaligned_raw(). Those in a mapped file are the mapping's, whatever their alignment: sessions of
/// one file have the same. Null for a view of memory that nobody keeps.
std::shared_ptr<const void> OwnerOfBytes(const Tensor& constant);

}  // namespace tessera
