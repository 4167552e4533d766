#pragma once

#include <string_view>

namespace tessera::opencl {

/// The text of NAME.cl; empty when there is none.
std::string_view KernelSource(std::string_view name);

}  // namespace tessera::opencl
