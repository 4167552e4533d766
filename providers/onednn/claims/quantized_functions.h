#pragma once

#include <vector>

#include "tessera/provider/graph.h"

namespace tessera::onednn {

/// By node: whether it takes part in computing quantized values of 8 bits of those of one other tensor, each by itself:
/// elementwise operators from DequantizeLinear to QuantizeLinear, com.microsoft's on quantized values. The CPU provider
/// makes tables of them, which are faster, and give what it gives whose rounding decides.
std::vector<bool> FunctionsOfOneQuantized(const GraphViewer& graph);

}  // namespace tessera::onednn
