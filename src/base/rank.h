#pragma once

#include <cstddef>

namespace tessera {

/// Dimensions of a tensor, as many as numpy's arrays have, by which ONNX defines its operators: every copy of a value,
/// elements of sequences among them, copies them, and no budget counts these copies.
inline constexpr size_t kMostRank = 64;

}  // namespace tessera
