#pragma once

#include <cstdint>

#include "tessera/value.h"

namespace tessera {

/// Same type, shape and bits. Large tensors that differ mostly do so within the first page.
bool SameContents(const Tensor& a, const Tensor& b) noexcept;

/// Equal for tensors of the same contents; looks at a few elements only.
uint64_t ContentsHash(const Tensor& tensor) noexcept;

}  // namespace tessera
