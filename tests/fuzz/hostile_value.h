#pragma once

#include <random>

#include "tessera/value.h"

namespace tessera::fuzz {

using Random = std::mt19937;

inline size_t Below(Random& random, size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); }
inline bool OneIn(Random& random, size_t n) { return Below(random, n) == 0; }

/// An int64 that an index, axis, size, count or stride is most likely to be used wrongly with.
int64_t HostileInteger(Random& random);

/// A value of the same kind and element type with another shape, other elements, or both. Its buffers are exactly as large
/// as its shape says, so that AddressSanitizer sees every access beyond them.
Value Damage(const Value& value, Random& random);

/// The same elements in buffers of their own, exactly as large as the shape says.
Value ExactCopy(const Value& value);

/// A small value of the type whose bytes are random, for a type that no data is at hand for.
Tensor RandomTensor(ElementType type, const Shape& shape, Random& random);

}  // namespace tessera::fuzz
