#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// "; did you mean 'claims'?" where one of the known words is close to what was written, else nothing.
std::string DidYouMean(std::string_view word, std::span<const std::string> known);

}  // namespace tessera
