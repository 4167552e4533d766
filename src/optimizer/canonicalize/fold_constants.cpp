// fold_constants: nodes whose inputs are all constants are computed now, but for 16-bit matrices that float32 matmuls read
// (fold_matrices).

#include "optimizer/analysis/constant_folding.h"
#include "optimizer/rewrites.h"

namespace tessera {

std::unique_ptr<Rewrite> FoldConstants() { return std::make_unique<ConstantFolding>(WideMatrices::kLeave); }

}  // namespace tessera
