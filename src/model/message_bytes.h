#pragma once

#include <cstddef>
#include <span>

#include "base/load_limits.h"

namespace tessera {

/// Bytes that protobuf takes for the parsed form of a serialized ModelProto, estimated from above before it is parsed: a
/// field of two bytes may become an object of two hundred. Throws Error where the load is stopped, and where messages are
/// nested deeper than protobuf reads, which the parser does not tell from damage.
size_t ParsedBytes(std::span<const std::byte> model, const LoadLimits& limits);

}  // namespace tessera
