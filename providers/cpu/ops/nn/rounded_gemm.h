#pragma once

// GEMM whose operands are rounded to bfloat16, for the nodes for which RoundsOperands() holds.

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_bf16.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Rows of k numbers, one after the other, as pairs of bfloat16 in scratch memory.
const BFloat16* RoundRows(KernelContext& context, const float* rows, int64_t count, int64_t k);

/// A GEMM whose packed B is of pairs (PanelType::kPairs). A's rows are contiguous.
void RunRoundedGemm(KernelContext& context, const GemmArgs<float>& args);

}  // namespace tessera::cpu
