#pragma once

// The order in which a forest's nodes are laid out.

#include <cstdint>
#include <vector>

#include "cpu/ops/ml/forest.h"

namespace tessera::cpu {

/// The nodes that roots lead to, tree after tree, those below a node behind it. Throws Error on roots and children out of
/// range and on cycles, also of nodes that no root leads to.
template <class T>
std::vector<uint32_t> OrderForest(const ForestSource<T>& source);

extern template std::vector<uint32_t> OrderForest<float>(const ForestSource<float>&);
extern template std::vector<uint32_t> OrderForest<double>(const ForestSource<double>&);

}  // namespace tessera::cpu
