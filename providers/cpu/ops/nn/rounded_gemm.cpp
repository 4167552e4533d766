#include "cpu/ops/nn/rounded_gemm.h"

#include "base/checked.h"

namespace tessera::cpu {

const BFloat16* RoundRows(KernelContext& context, const float* rows, int64_t count, int64_t k) {
  const int64_t row = PairedSize(k);
  const std::span<BFloat16> pairs = context.scratch<BFloat16>(static_cast<size_t>(CheckedMul(count, row)));
  context.threads().ParallelFor(count, static_cast<double>(row) * 0.1, [&](int64_t begin, int64_t end) {
    RoundToPairs(rows + begin * k, end - begin, k, pairs.data() + begin * row);
  });
  return pairs.data();
}

void RunRoundedGemm(KernelContext& context, const GemmArgs<float>& args) {
  GemmBf16(context.threads(), {.m = args.m,
                               .n = args.n,
                               .k = args.k,
                               .a = RoundRows(context, args.a, args.m, args.k),
                               .packed_b = static_cast<const BFloat16*>(args.packed_b),
                               .c = args.c,
                               .c_row = args.c_row,
                               .alpha = args.alpha,
                               .accumulate = args.accumulate,
                               .epilogue = args.epilogue});
}

}  // namespace tessera::cpu
