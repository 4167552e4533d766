// A library of providers that does wrong on request, as the environment variable FAULTY_PROVIDER says when it is
// registered. Without a fault it takes every Abs and Neg, and computes them.

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph_reader.h"

namespace {

std::string fault;

bool Is(const char* name) { return fault == name; }
OrtStatus* Complaint() { return api->CreateStatus(ORT_EP_FAIL, "as it was told to"); }

/// A step that fails with a status ("STEP_status"), throws ("STEP_throws"), or does neither.
OrtStatus* Step(const std::string& step) {
  if (fault == step + "_status") return Complaint();
  if (fault == step + "_throws") throw std::runtime_error("thrown, as it was told to");
  return nullptr;
}

/// Functions that throw, under types that say that they do not: as libraries may be that are compiled as C++14.
template <class Target, class Source>
void Set(Target*& member, Source lambda) {
  member = reinterpret_cast<Target*>(+lambda);
}

std::string NameOf(const OrtValueInfo* value) {
  const char* name = nullptr;
  Ignore(api->GetValueInfoName(value, &name));
  return name;
}

/// A node with one input and one output.
struct Unary {
  std::string type, input, output;

  explicit Unary(const OrtNode* node) {
    const char* text = nullptr;
    Ignore(api->Node_GetOperatorType(node, &text));
    type = text;
    const OrtValueInfo* value = nullptr;
    Ignore(api->Node_GetInputs(node, &value, 1));
    input = NameOf(value);
    Ignore(api->Node_GetOutputs(node, &value, 1));
    output = NameOf(value);
  }
};

struct Info : OrtNodeComputeInfo {
  std::vector<Unary> nodes;
  std::vector<std::string> inputs, outputs;

  Info(const OrtGraph* graph, const OrtNode* fused) : OrtNodeComputeInfo{} {
    for (const OrtNode* node : NodesOf(graph)) nodes.emplace_back(node);
    for (const bool is_input : {true, false}) {
      size_t count = 0;
      Ignore(is_input ? api->Node_GetNumInputs(fused, &count) : api->Node_GetNumOutputs(fused, &count));
      std::vector<const OrtValueInfo*> values(count);
      Ignore(is_input ? api->Node_GetInputs(fused, values.data(), count)
                      : api->Node_GetOutputs(fused, values.data(), count));
      for (const OrtValueInfo* value : values) (is_input ? inputs : outputs).push_back(NameOf(value));
    }
    ort_version_supported = 24;
    CreateState = [](OrtNodeComputeInfo* info, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = info;
      return Step("state");
    };
    if (!Is("info_without_compute")) {
      Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) -> OrtStatus* {
        if (OrtStatus* status = Step("compute")) return status;
        return static_cast<Info*>(state)->Run(context);
      };
    }
    if (!Is("info_without_release")) ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }

  OrtStatus* Run(OrtKernelContext* context) const {
    std::map<std::string, std::vector<float>> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const OrtValue* value = nullptr;
      const void* data = nullptr;
      size_t bytes = 0;
      if (OrtStatus* status = api->KernelContext_GetInput(context, i, &value)) return status;
      if (OrtStatus* status = api->GetTensorData(value, &data)) return status;
      if (OrtStatus* status = api->GetTensorSizeInBytes(value, &bytes)) return status;
      const auto* floats = static_cast<const float*>(data);
      values[inputs[i]].assign(floats, floats + bytes / sizeof(float));
    }
    for (const Unary& node : nodes) {
      std::vector<float>& result = values[node.output] = values[node.input];
      for (float& x : result) x = node.type == "Abs" ? std::fabs(x) : -x;
    }
    if (Is("no_output")) return nullptr;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<float>& result = values[outputs[i]];
      std::vector<int64_t> shape = {static_cast<int64_t>(result.size())};
      if (Is("wrong_size")) ++shape[0];
      if (Is("wrong_rank")) shape.push_back(1);
      if (Is("negative_size")) shape[0] = -2;
      const size_t index = Is("foreign_output") ? i + 7 : i;
      OrtValue* value = nullptr;
      void* data = nullptr;
      if (OrtStatus* status = api->KernelContext_GetOutput(context, index, shape.data(), shape.size(), &value))
        return status;
      if (OrtStatus* status = api->GetTensorMutableData(value, &data)) return status;
      std::copy(result.begin(), result.end(), static_cast<float*>(data));
    }
    return nullptr;
  }
};

/// A kernel of the registry, for Abs and Neg as above; asked for by faults whose names begin with "kernel".
struct Kernel : OrtKernelImpl {
  bool is_abs;

  explicit Kernel(bool abs) : OrtKernelImpl{}, is_abs(abs) {
    ort_version_supported = 24;
    OrtKernelImpl::Release = [](OrtKernelImpl* self) { delete static_cast<Kernel*>(self); };
    if (Is("kernel_without_function")) return;
    Set(OrtKernelImpl::Compute, [](OrtKernelImpl* self, OrtKernelContext* context) -> OrtStatus* {
      if (OrtStatus* status = Step("kernel_compute")) return status;
      return static_cast<Kernel*>(self)->Run(context);
    });
  }

  OrtStatus* Run(OrtKernelContext* context) const {
    const OrtValue* input = nullptr;
    OrtValue* output = nullptr;
    const void* from = nullptr;
    void* to = nullptr;
    const int64_t shape[] = {Is("kernel_wrong_size") ? 5 : 3};
    if (OrtStatus* status = api->KernelContext_GetInput(context, 0, &input)) return status;
    if (OrtStatus* status = api->GetTensorData(input, &from)) return status;
    if (OrtStatus* status = api->KernelContext_GetOutput(context, 0, shape, 1, &output)) return status;
    if (OrtStatus* status = api->GetTensorMutableData(output, &to)) return status;
    for (int i = 0; i < 3; ++i) {
      const float x = static_cast<const float*>(from)[i];
      static_cast<float*>(to)[i] = is_abs ? std::fabs(x) : -x;
    }
    return nullptr;
  }
};

bool WithKernels() { return fault.rfind("kernel_", 0) == 0 && !Is("kernel_without_registry"); }

OrtStatus* CreateKernel(void* is_abs, const OrtKernelInfo*, OrtKernelImpl** kernel) {
  if (OrtStatus* status = Step("kernel_create")) return status;
  if (!Is("kernel_null")) *kernel = new Kernel(is_abs != nullptr);
  return nullptr;
}

OrtKernelRegistry* MakeRegistry() {
  const OrtEpApi& ep = *api->GetEpApi();
  OrtKernelRegistry* registry = nullptr;
  Ignore(ep.CreateKernelRegistry(&registry));
  for (const bool is_abs : {true, false}) {
    OrtKernelDefBuilder* builder = nullptr;
    OrtKernelDef* definition = nullptr;
    Ignore(ep.CreateKernelDefBuilder(&builder));
    Ignore(ep.KernelDefBuilder_SetOperatorType(builder, is_abs ? "Abs" : "Neg"));
    Ignore(ep.KernelDefBuilder_SetDomain(builder, ""));
    Ignore(ep.KernelDefBuilder_SetSinceVersion(builder, 6, 30));
    Ignore(ep.KernelDefBuilder_SetExecutionProvider(builder, "FaultyExecutionProvider"));
    Ignore(ep.KernelDefBuilder_Build(builder, &definition));
    Ignore(ep.KernelRegistry_AddKernel(registry, definition, CreateKernel, is_abs ? registry : nullptr));
    ep.ReleaseKernelDef(definition);
    ep.ReleaseKernelDefBuilder(builder);
  }
  return registry;
}

using Group = std::vector<const OrtNode*>;

/// What is claimed, of a chain a, b, c or of two chains.
std::vector<Group> GroupsOf(const std::vector<const OrtNode*>& all) {
  static const int elsewhere = 0;
  const auto* foreign = reinterpret_cast<const OrtNode*>(&elsewhere);
  if (all.size() < 3) return {};
  if (Is("empty_group")) return {{}, {all[1]}};
  if (Is("foreign_node")) return {{all[0], foreign}, {all[1]}};
  if (Is("null_node")) return {{all[0], nullptr}, {all[1]}};
  if (Is("node_twice")) return {{all[0], all[0]}, {all[1]}};
  if (Is("overlapping")) return {{all[0], all[1]}, {all[1], all[2]}};
  if (Is("reentered")) return {{all[0], all[2]}, {all[1]}};
  if (Is("mutual") && all.size() == 4) return {{all[0], all[3]}, {all[1], all[2]}};
  if (Is("info_twice")) return {{all[0]}, {all[1]}};
  return {all};
}

OrtStatus* Claim(const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
  if (OrtStatus* status = Step("capability")) return status;
  if (Is("kernel_without_registry") || WithKernels()) {
    for (const OrtNode* node : NodesOf(graph)) Ignore(api->GetEpApi()->EpGraphSupportInfo_AddSingleNode(support, node));
    return nullptr;
  }
  for (const Group& group : GroupsOf(NodesOf(graph)))  // what is said of it is not listened to
    Ignore(api->GetEpApi()->EpGraphSupportInfo_AddNodesToFuse(support, group.data(), group.size(), nullptr));
  return nullptr;
}

OrtStatus* CompileAll(const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count, OrtNodeComputeInfo** infos) {
  for (size_t i = 0; i < count; ++i) {
    if (Is("info_null")) continue;
    infos[i] = Is("info_twice") && i > 0 ? infos[0] : new Info(graphs[i], fused_nodes[i]);
  }
  return Step("compile");  // with what it has made already
}

struct Ep : OrtEp {
  OrtKernelRegistry* registry = WithKernels() ? MakeRegistry() : nullptr;

  Ep() : OrtEp{} {
    ort_version_supported = 24;
    Set(GetKernelRegistry, [](OrtEp* self, const OrtKernelRegistry** found) {
      *found = static_cast<Ep*>(self)->registry;
      return Step("registry");
    });
    Set(GetName, [](const OrtEp*) -> const char* { return Is("ep_name_null") ? nullptr : "FaultyExecutionProvider"; });
    if (Is("ep_without_capability")) return;
    Set(GetCapability, [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* support) { return Claim(graph, support); });
    Set(OnRunStart, [](OrtEp*, const OrtRunOptions*) { return Step("run_start"); });
    Set(OnRunEnd, [](OrtEp*, const OrtRunOptions*, bool) { return Step("run_end"); });
    Set(IsConcurrentRunSupported, [](OrtEp*, bool* is) {
      *is = true;
      return Step("concurrent");
    });
    if (Is("ep_without_compile")) return;
    Set(Compile, [](OrtEp*, const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** infos,
                    OrtNode**) { return CompileAll(graphs, fused, count, infos); });
    Set(ReleaseNodeComputeInfos, [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) {
      for (size_t i = 0; i < count; ++i) delete static_cast<Info*>(infos[i]);
    });
  }
  ~Ep() { api->GetEpApi()->ReleaseKernelRegistry(registry); }
};

struct Factory : OrtEpFactory {
  Factory() : OrtEpFactory{} {
    ort_version_supported = Is("old_version") ? 1 : 24;
    Set(GetName, [](const OrtEpFactory*) -> const char* { return Is("name_null") ? nullptr : "FaultyExecutionProvider"; });
    Set(GetVendor, [](const OrtEpFactory*) -> const char* { return Is("vendor_null") ? nullptr : "Tests"; });
    Set(GetSupportedDevices,
        [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t, OrtEpDevice** found, size_t,
           size_t* count) -> OrtStatus* {
          if (OrtStatus* status = Step("devices")) return status;
          if (OrtStatus* status = api->GetEpApi()->CreateEpDevice(self, devices[0], nullptr, nullptr, &found[0]))
            return status;
          *count = Is("more_devices_than_given") ? 2 : 1;
          return nullptr;
        });
    if (!Is("no_create_ep")) {
      Set(CreateEp,
          [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
             const OrtSessionOptions*, const OrtLogger*, OrtEp** ep) -> OrtStatus* {
            *ep = nullptr;
            if (OrtStatus* status = Step("create_ep")) return status;
            if (!Is("ep_null")) *ep = new Ep;
            return nullptr;
          });
    }
    Set(ReleaseEp, [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Ep*>(ep); });
    Set(CreateDataTransfer, [](OrtEpFactory*, OrtDataTransferImpl** transfer) -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    });
  }
};

}  // namespace

extern "C" {

ORT_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*, OrtEpFactory** factories,
                                        size_t, size_t* count) {
  api = base->GetApi(24);
  const char* asked = std::getenv("FAULTY_PROVIDER");
  fault = asked == nullptr ? "" : asked;
  if (OrtStatus* status = Step("load")) return status;
  *count = Is("five_factories") ? 5 : 1;
  if (Is("no_factory")) *count = 0;
  if (!Is("factory_null") && !Is("no_factory")) factories[0] = new Factory;
  return nullptr;
}

ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return Step("release");
}

}  // extern "C"
