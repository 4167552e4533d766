#pragma once

#include <optional>

#include "tessera/value.h"

namespace tessera {

/// The value with bools of 0 and 1 where it holds other bytes; nothing where it has none, so that it is taken as it is.
/// What lies in a device's memory is not looked at.
std::optional<Value> WithPlainBools(const Value& value, Allocator& allocator);

}  // namespace tessera
