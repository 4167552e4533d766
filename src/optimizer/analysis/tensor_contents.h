#pragma once

#include <cstdint>

#include "tessera/value.h"

namespace tessera {

/// Same type, shape and bits. Large tensors that differ mostly do so within the first page.
bool SameContents(const Tensor& a, const Tensor& b) noexcept;

/// Equal for tensors of the same contents. Looks at the first elements only: weights of a mapped file are not read for it.
uint64_t SampleHash(const Tensor& tensor) noexcept;
/// The same of all elements, for tensors whose samples are equal.
uint64_t ContentsHash(const Tensor& tensor) noexcept;

}  // namespace tessera
