#include "bindings/c/ep/kernel_registry.h"

#include "bindings/c/entry.h"

namespace tessera::c_abi {

OrtStatusPtr CreateKernelRegistry(OrtKernelRegistry** kernel_registry) noexcept {
  return Guarded([&] {
    OrtKernelRegistry*& out = Given(kernel_registry, "out");
    out = new OrtKernelRegistry;
  });
}

void ReleaseKernelRegistry(OrtKernelRegistry* input) { delete input; }

OrtStatusPtr KernelRegistry_AddKernel(OrtKernelRegistry* kernel_registry, const OrtKernelDef* kernel_def,
                                      OrtKernelCreateFunc kernel_create_func, void* kernel_create_func_state) noexcept {
  return Guarded([&] {
    OrtKernelRegistry& registry = Given(kernel_registry, "the registry");
    const OrtKernelDef& def = Given(kernel_def, "the kernel's definition");
    Require(kernel_create_func != nullptr, "the function that makes kernels of {} is null", def.op_type);
    Require(!def.op_type.empty(), "the kernel's definition names no operator; call KernelDefBuilder_SetOperatorType");
    registry.kernels.push_back({def, kernel_create_func, kernel_create_func_state});
  });
}

}  // namespace tessera::c_abi
