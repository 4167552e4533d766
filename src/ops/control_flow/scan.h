#pragma once

// Scan (8, 9, 11, 16, 19, 21, 23, 24, 25).

#include "tessera/provider/attributes.h"

namespace tessera {

/// How many inputs, the last ones of the node and of its body, are taken apart step by step; kernels refuse less than one.
inline int64_t ScannedInputs(const Node& scan) { return AttributeOr<int64_t>(scan, "num_scan_inputs", 0); }

}  // namespace tessera
