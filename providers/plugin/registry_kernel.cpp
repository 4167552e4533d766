#include "plugin/registry_kernel.h"

#include "base/check.h"
#include "bindings/c/entry.h"

namespace tessera::plugin {

const OrtKernelRegistry* RegistryOf(const Ep& ep) {
  const OrtKernelRegistry* registry = nullptr;
  if (ep.HasSince(24) && ep->GetKernelRegistry != nullptr)
    c_abi::ThrowIfFailed(ep->GetKernelRegistry(ep.get(), &registry));
  return registry;
}

std::unique_ptr<Kernel> MakeRegistryKernel(const std::shared_ptr<Ep>& /*ep*/, const ExecutionProvider& provider,
                                           const GraphViewer& /*graph*/, const SessionServices& /*services*/) {
  Fail(ErrorCode::kNotImplemented, "{}: kernels of a library's registry are not taken yet", provider.name());
}

}  // namespace tessera::plugin
