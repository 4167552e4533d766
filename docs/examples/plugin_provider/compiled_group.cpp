#include "compiled_group.h"

#include <cstring>

#include "graph.h"
#include "onnx_writer.h"

namespace teaching {
namespace {

std::vector<std::string> NamesOf(const Api& api, const std::vector<const OrtValueInfo*>& values) {
  std::vector<std::string> names;
  for (const OrtValueInfo* value : values) names.push_back(NameOf(api, value));
  return names;
}

}  // namespace

CompiledGroup::CompiledGroup(const Api& api, const OrtGraph& graph, const OrtNode& fused_node)
    : OrtNodeComputeInfo{},
      api_(api),
      engine_(api, WriteOnnx(api, graph, fused_node), NamesOf(api, InputsOf(api, fused_node)),
              NamesOf(api, OutputsOf(api, fused_node))) {
  ort_version_supported = kApiVersion;

  // Before the first run. A state is what belongs to the node in its session, scratch memory of a device for one; we need
  // none but the group itself.
  CreateState = [](OrtNodeComputeInfo* group, OrtNodeComputeContext*, void** state) -> OrtStatus* {
    *state = group;
    return nullptr;
  };
  ReleaseState = [](OrtNodeComputeInfo*, void*) {};

  // In every run of the session, of several threads at once if they run it at once.
  Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) {
    const auto* group = static_cast<const CompiledGroup*>(static_cast<OrtNodeComputeInfo*>(state));
    return group->api_.Guarded([&] { group->Run(*context); });
  };
}

void CompiledGroup::Run(OrtKernelContext& context) const {
  size_t count = 0;
  api_.Check(api_->KernelContext_GetInputCount(&context, &count));
  std::vector<TensorView> inputs;
  for (size_t i = 0; i < count; ++i) {
    const OrtValue* value = nullptr;
    api_.Check(api_->KernelContext_GetInput(&context, i, &value));
    inputs.push_back(ViewOf(api_, *value));
  }

  const std::vector<Engine::Result> results = engine_.Run(inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    // Shapes are known only now; asked for with them, the runtime gives memory. An engine that can tell its shapes before
    // it computes writes there itself.
    const TensorView& result = results[i].tensor;
    OrtValue* output = nullptr;
    api_.Check(api_->KernelContext_GetOutput(&context, i, result.shape.data(), result.shape.size(), &output));
    void* memory = nullptr;
    api_.Check(api_->GetTensorMutableData(output, &memory));
    if (result.bytes > 0) std::memcpy(memory, result.data, result.bytes);
  }
}

}  // namespace teaching
