#pragma once

// Values at run time beside the types that the graph states for them.

#include "tessera/value.h"

namespace tessera {

/// Whether nothing of the type is left to be told at run time: kinds and element types all the way down.
bool IsComplete(const TypeInfo& type) noexcept;

/// The same but for shapes.
bool SameType(const TypeInfo& a, const TypeInfo& b) noexcept;

/// The type of a value at run time, without shapes; of a sequence that does not say it, the type of its elements. Throws
/// Error where these are of several types.
TypeInfo RunTimeType(const Value& value);

/// Whether a value may stand where the graph states `declared`: kernels that read it were made for that. What either does
/// not say fits; a sequence is taken at its word, for its elements are of one type.
bool Fits(const Value& value, const TypeInfo& declared) noexcept;

}  // namespace tessera
