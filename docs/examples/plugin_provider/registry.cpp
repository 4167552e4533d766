#include "registry.h"

#include "factory.h"

namespace teaching {

Registry::Registry(const Api& api) : registry_(nullptr, api.ep()->ReleaseKernelRegistry) {
  const OrtEpApi& ep = *api.ep();
  OrtKernelRegistry* registry = nullptr;
  api.Check(ep.CreateKernelRegistry(&registry));
  registry_.reset(registry);
  const OrtDataType* float32 = nullptr;
  api.Check(ep.GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &float32));

  for (const Operator& entry : Operators()) {
    OrtKernelDefBuilder* builder = nullptr;
    api.Check(ep.CreateKernelDefBuilder(&builder));
    const Owned<OrtKernelDefBuilder> keeps_builder(builder, ep.ReleaseKernelDefBuilder);
    api.Check(ep.KernelDefBuilder_SetOperatorType(builder, entry.type));
    api.Check(ep.KernelDefBuilder_SetDomain(builder, ""));  // ONNX's own
    // Both ends: a later version of the operator may mean something else, and is not ours until we have looked at it.
    api.Check(ep.KernelDefBuilder_SetSinceVersion(builder, entry.first_version, entry.last_version));
    api.Check(ep.KernelDefBuilder_SetExecutionProvider(builder, kProviderName));
    // "T" is what the operator's definition calls the type of its inputs and outputs.
    api.Check(ep.KernelDefBuilder_AddTypeConstraint(builder, "T", &float32, 1));
    OrtKernelDef* definition = nullptr;
    api.Check(ep.KernelDefBuilder_Build(builder, &definition));
    const Owned<OrtKernelDef> keeps_definition(definition, ep.ReleaseKernelDef);
    sources_.push_back(std::make_unique<KernelSource>(KernelSource{api, entry}));
    api.Check(ep.KernelRegistry_AddKernel(registry, definition, CreateKernel, sources_.back().get()));
  }
}

}  // namespace teaching
