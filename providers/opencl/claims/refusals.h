#pragma once

// What several kernels refuse. What only one does stands in its own file.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "tessera/provider/kernel.h"

namespace tessera::opencl {

/// Number of elements, where it is known.
std::optional<int64_t> KnownSize(const TypeInfo& type);

/// Images of other than one to three spatial dimensions.
std::string SpatialRefusal(const NodeInfo& info);

/// Scales and zero points other than one number for all at inputs `single`, and one for each channel at most at
/// `by_channel`: those of rows, and of matrices of a stack.
std::string ScaleRefusal(const NodeInfo& info, std::initializer_list<size_t> single,
                         std::initializer_list<size_t> by_channel);

}  // namespace tessera::opencl
