#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// What a message says of a name, which a model or a caller may make of any length.
inline constexpr size_t kLongestName = 256;

/// The text, or of one of more than `most` bytes its begin and end and how long it is: "layers.0.w...(1048576
/// bytes)...bias".
std::string Shortened(std::string_view text, size_t most = kLongestName);

}  // namespace tessera
