#include "base/precision.h"
#include "cpu/lowering/lowering.h"
#include "cpu/ops/ops.h"
#include "cpu/rounding.h"
#include "tessera/providers/cpu.h"
#include "tessera/providers/names.h"

namespace tessera {
namespace {

const OptionSchema kOptions[] = {
    {"cpu_mem_limit", OptionType::kBytes, "", "most bytes of host memory for a session's values; 0: no limit"},
    {"arena_extend_strategy",
     OptionType::kEnum,
     "",
     "how much the arena takes at once",
     {"kNextPowerOfTwo", "kSameAsRequested"}},
    {cpu::kPrecisionOption,
     OptionType::kEnum,
     "f32",
     "what attention of several queries, and MatMul, Gemm, RNN, GRU and LSTM with constant weights round the operands of "
     "their matmuls to, "
     "on processors with AVX512-BF16; bf16-weights rounds constant weights alone, anywhere",
     {"f32", "bf16", "bf16-weights"}},
};

const KernelRegistry& CpuKernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry kernels;
#define TESSERA_OP(name) cpu::Register##name(kernels);
#include "cpu/ops/all.inc"
#undef TESSERA_OP
    return kernels;
  }();
  return registry;
}

class CpuProvider final : public ExecutionProvider {
 public:
  std::string_view name() const noexcept override { return kCpuProvider; }
  const KernelRegistry& kernels() const noexcept override { return CpuKernels(); }
  /// Its kernels make use of what the optimizer allows; what the option allows takes constant weights, and instructions
  /// that pay.
  std::string_view PrecisionOf(const GraphViewer& graph, const Node& node) const override {
    if (cpu::MayRound(*this, graph, node)) {
      switch (cpu::RoundingOf(*this, graph, node)) {
        case cpu::Rounding::kNone: return NameOf(Precision::kFloat32);
        case cpu::Rounding::kWeights: return NameOf(Precision::kBFloat16Weights);
        case cpu::Rounding::kOperands: return NameOf(Precision::kBFloat16);
      }
    }
    return node.hints.precision == Precision::kFloat32 ? std::string_view() : NameOf(node.hints.precision);
  }
};

}  // namespace

const ProviderFactory& CpuProviderFactory() {
  static const ProviderFactory factory = {
      .name = kCpuProvider,
      .cli_name = "cpu",
      .options = kOptions,
      .create = [](const ProviderOptions&) -> std::unique_ptr<ExecutionProvider> {
        return std::make_unique<CpuProvider>();
      },
      .lowering = CpuLowering,
  };
  return factory;
}

}  // namespace tessera
