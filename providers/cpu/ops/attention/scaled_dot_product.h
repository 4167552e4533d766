#pragma once

// Scaled dot-product attention, shared by the operators that end in it.

#include "cpu/ops/attention/attention_problem.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

template <class C>
void ScaledDotProduct(KernelContext& context, const AttentionProblem<C>& problem);

extern template void ScaledDotProduct(KernelContext&, const AttentionProblem<float>&);
extern template void ScaledDotProduct(KernelContext&, const AttentionProblem<double>&);

}  // namespace tessera::cpu
