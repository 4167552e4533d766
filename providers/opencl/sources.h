#pragma once

#include <string_view>

namespace tessera::opencl {

/// The text of ops/NAME.cl; empty when there is none.
std::string_view KernelSource(std::string_view name);

}  // namespace tessera::opencl
