#include "tessera/providers/cpu.h"

#include "ops/ops.h"

namespace tessera {
namespace {

const KernelRegistry& CpuKernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry kernels;
#define TESSERA_OP(name) cpu::Register##name(kernels);
#include "ops/all.inc"
#undef TESSERA_OP
    return kernels;
  }();
  return registry;
}

class CpuProvider final : public ExecutionProvider {
 public:
  std::string_view name() const noexcept override { return "CPUExecutionProvider"; }
  const KernelRegistry& kernels() const noexcept override { return CpuKernels(); }
};

}  // namespace

const ProviderFactory& CpuProviderFactory() {
  static const ProviderFactory factory = {
      .name = "CPUExecutionProvider",
      .cli_name = "cpu",
      .options = {},
      .create = [](const ProviderOptions&) -> std::unique_ptr<ExecutionProvider> { return std::make_unique<CpuProvider>(); },
  };
  return factory;
}

}  // namespace tessera
