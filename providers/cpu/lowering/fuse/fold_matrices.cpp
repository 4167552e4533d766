// fold_matrices comes last: 16-bit matrices that float32 matmuls read become float32 only where fuse_linear has left them.

#include "cpu/lowering/lowering.h"
#include "optimizer/analysis/constant_folding.h"

namespace tessera {

std::unique_ptr<Rewrite> FoldMatrices() { return std::make_unique<ConstantFolding>(WideMatrices::kFold); }

}  // namespace tessera
