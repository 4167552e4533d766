// A library of a provider that compiles ahead of time: it takes every Neg, writes context nodes for them and reads these
// again; has a part in profiles; and, with its option `record`, records runs and replays them.

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph_reader.h"

namespace {

constexpr const char* kName = "CompilingExecutionProvider";
int replays = 0, started_nodes = 0, ended_nodes = 0;

std::string TypeOf(const OrtNode* node) {
  const char* text = nullptr;
  Ignore(api->Node_GetOperatorType(node, &text));
  return text;
}

std::string TextAttribute(const OrtNode* node, const char* name) {
  const OrtOpAttr* attribute = nullptr;
  Ignore(api->Node_GetAttributeByName(node, name, &attribute));
  if (attribute == nullptr) return {};
  size_t bytes = 0;
  Ignore(api->ReadOpAttr(attribute, ORT_OP_ATTR_STRING, nullptr, 0, &bytes));
  std::string text(bytes, '\0');
  Ignore(api->ReadOpAttr(attribute, ORT_OP_ATTR_STRING, text.data(), bytes, &bytes));
  return text;
}

int64_t IntAttribute(const OrtNode* node, const char* name) {
  const OrtOpAttr* attribute = nullptr;
  Ignore(api->Node_GetAttributeByName(node, name, &attribute));
  int64_t value = 1;
  size_t bytes = 0;
  if (attribute != nullptr) Ignore(api->ReadOpAttr(attribute, ORT_OP_ATTR_INT, &value, sizeof value, &bytes));
  return value;
}

std::string EntryOf(const OrtSessionOptions* options, const char* key) {
  size_t bytes = 0;
  Ignore(api->GetSessionConfigEntry(options, key, nullptr, &bytes));
  if (bytes == 0) return {};
  std::string text(bytes, '\0');
  Ignore(api->GetSessionConfigEntry(options, key, text.data(), &bytes));
  text.resize(bytes - 1);
  return text;
}

/// One multiplication by 1 or -1.
struct Work {
  const float* from;
  float* to;
  size_t count;
  float sign;
  void Do() const {
    for (size_t i = 0; i < count; ++i) to[i] = sign * from[i];
  }
};

struct Ep;

struct Info : OrtNodeComputeInfo {
  Ep& ep;
  const float sign;

  Info(Ep& its_ep, float its_sign);
  OrtStatus* Run(OrtKernelContext* context) const;
};

struct Profiler : OrtEpProfilerImpl {
  int64_t offset_ns = 0;
  int runs_of_nodes = 0;

  Profiler() : OrtEpProfilerImpl{} {
    ort_version_supported = 31;
    Release = [](OrtEpProfilerImpl* self) { delete static_cast<Profiler*>(self); };
    StartProfiling = [](OrtEpProfilerImpl* self, int64_t offset) noexcept -> OrtStatus* {
      static_cast<Profiler*>(self)->offset_ns = offset;
      return nullptr;
    };
    StartEvent = [](OrtEpProfilerImpl*, uint64_t) noexcept -> OrtStatus* {
      ++started_nodes;
      return nullptr;
    };
    StopEvent = [](OrtEpProfilerImpl* self, uint64_t, const OrtProfilingEvent* event) noexcept -> OrtStatus* {
      ++ended_nodes;
      const char* provider = nullptr;
      Ignore(api->GetEpApi()->ProfilingEvent_GetArgValue(event, "provider", &provider));
      if (provider != nullptr && std::strcmp(provider, kName) == 0) ++static_cast<Profiler*>(self)->runs_of_nodes;
      return nullptr;
    };
    EndProfiling = [](OrtEpProfilerImpl* self, OrtProfilingEventsContainer* events) noexcept -> OrtStatus* {
      const auto& own = *static_cast<Profiler*>(self);
      const std::string count = std::to_string(own.runs_of_nodes);
      const char* keys[] = {"negations"};
      const char* values[] = {count.c_str()};
      OrtProfilingEvent* event = nullptr;
      const OrtEpApi& ep_api = *api->GetEpApi();
      if (OrtStatus* status = ep_api.CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, 1, 7, "negate",
                                                          own.offset_ns / 1000, 5, keys, values, 1, &event))
        return status;
      const OrtProfilingEvent* added[] = {event};
      OrtStatus* status = ep_api.ProfilingEventsContainer_AddEvents(events, added, 1);
      ep_api.ReleaseProfilingEvent(event);
      return status;
    };
  }
};

/// The program's functions for what lies outside of models.
struct DataFunctions {
  OrtReadNamedBufferFunc read = nullptr;
  OrtWriteNamedBufferFunc write = nullptr;
  void *read_state = nullptr, *write_state = nullptr;

  explicit DataFunctions(const OrtSessionOptions* options) {
    const OrtEpApi& ep_api = *api->GetEpApi();
    OrtEpContextConfig* config = nullptr;
    Ignore(ep_api.SessionOptionsGetEpContextConfig(options, &config));
    Ignore(ep_api.EpContextConfigGetEpContextDataReadFunc(config, &read, &read_state));
    Ignore(ep_api.EpContextConfigGetEpContextDataWriteFunc(config, &write, &write_state));
    ep_api.ReleaseEpContextConfig(config);
  }
};

struct Ep : OrtEp {
  const bool writes, embeds, records;
  const std::filesystem::path file;
  const DataFunctions functions;
  int runs = 0;
  std::vector<Work> done;  // of the run under way
  std::map<int, std::vector<Work>> recorded;
  std::string compatibility = "made for tests";

  explicit Ep(const OrtSessionOptions* options)
      : OrtEp{},
        writes(EntryOf(options, "ep.context_enable") == "1"),
        embeds(EntryOf(options, "ep.context_embed_mode") == "1"),
        records(EntryOf(options, "ep.compilingexecutionprovider.record") == "1"),
        file(EntryOf(options, "ep.context_file_path")),
        functions(options) {
    ort_version_supported = 31;
    GetName = [](const OrtEp*) -> const char* { return kName; };
    CreateProfiler = [](OrtEp*, OrtEpProfilerImpl** profiler) noexcept -> OrtStatus* {
      *profiler = new Profiler;
      return nullptr;
    };
    OfferCompiling(/*files_only=*/EntryOf(options, "ep.compilingexecutionprovider.files_only") == "1");
    OfferRecording();
  }

  void OfferCompiling(bool files_only) {
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* support) noexcept -> OrtStatus* {
      for (const OrtNode* node : NodesOf(graph)) {
        const bool compiled = TypeOf(node) == "EPContext" && TextAttribute(node, "source") == kName;
        if (!compiled && TypeOf(node) != "Neg") continue;
        if (OrtStatus* status = api->GetEpApi()->EpGraphSupportInfo_AddNodesToFuse(support, &node, 1, nullptr))
          return status;
      }
      return nullptr;
    };
    Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode** contexts) noexcept -> OrtStatus* {
      for (size_t i = 0; i < count; ++i) {
        if (OrtStatus* status = static_cast<Ep*>(self)->CompileOne(graphs[i], fused[i], infos[i], contexts[i]))
          return status;
      }
      return nullptr;
    };
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) {
      for (size_t i = 0; i < count; ++i) delete static_cast<Info*>(infos[i]);
    };
    GetCompiledModelCompatibilityInfo = [](OrtEp* self, const OrtGraph* graph) -> const char* {
      auto& own = *static_cast<Ep*>(self);
      own.compatibility = std::to_string(NodesOf(graph).size()) + " compiled";
      return own.compatibility.c_str();
    };
    if (files_only) return;
    GetEpContextDataSupport = [](const OrtEp*, uint32_t* flags) noexcept -> OrtStatus* {
      *flags = 3;
      return nullptr;
    };
  }

  void OfferRecording() {
    OnRunStart = [](OrtEp* self, const OrtRunOptions*) noexcept -> OrtStatus* {
      static_cast<Ep*>(self)->done.clear();
      return nullptr;
    };
    OnRunEnd = [](OrtEp* self, const OrtRunOptions* options, bool) noexcept -> OrtStatus* {
      auto& own = *static_cast<Ep*>(self);
      const char* number = api->GetRunConfigEntry(options, "gpu_graph_id");
      if (own.records && ++own.runs % 2 == 0) own.recorded[number == nullptr ? 0 : std::atoi(number)] = own.done;
      return nullptr;
    };
    IsGraphCaptureEnabled = [](const OrtEp* self) { return static_cast<const Ep*>(self)->records; };
    IsGraphCaptured = [](const OrtEp* self, int number) {
      return static_cast<const Ep*>(self)->recorded.count(number) == 1;
    };
    ReplayGraph = [](OrtEp* self, int number) noexcept -> OrtStatus* {
      ++replays;
      for (const Work& work : static_cast<Ep*>(self)->recorded[number]) work.Do();
      return nullptr;
    };
  }

  OrtStatus* CompileOne(const OrtGraph* graph, const OrtNode* fused, OrtNodeComputeInfo*& info, OrtNode*& context) {
    const OrtNode* node = NodesOf(graph).front();
    float sign = -1;
    if (TypeOf(node) == "EPContext") {
      std::string stored;
      if (OrtStatus* status = Stored(graph, node, stored)) return status;
      sign = std::stof(stored);
    }
    info = new Info(*this, sign);
    return writes ? WriteContext(fused, static_cast<const Info*>(info)->sign, context) : nullptr;
  }

  /// What a context node holds, or its file, or the program.
  OrtStatus* Stored(const OrtGraph* graph, const OrtNode* node, std::string& stored) const {
    const std::string held = TextAttribute(node, "ep_cache_context");
    if (IntAttribute(node, "embed_mode") == 1) {
      stored = held;
      return nullptr;
    }
    if (functions.read != nullptr) return Read(held, stored);
    const ORTCHAR_T* model = nullptr;
    Ignore(api->Graph_GetModelPath(graph, &model));
    std::ifstream stream(std::filesystem::path(model).parent_path() / held);
    stream >> stored;
    return nullptr;
  }

  OrtStatus* Read(const std::string& name, std::string& stored) const {
    OrtAllocator* allocator = nullptr;
    Ignore(api->GetAllocatorWithDefaultOptions(&allocator));
    void* buffer = nullptr;
    size_t bytes = 0;
    if (OrtStatus* status = functions.read(functions.read_state, name.c_str(), allocator, &buffer, &bytes)) return status;
    stored.assign(static_cast<const char*>(buffer), bytes);
    allocator->Free(allocator, buffer);
    return nullptr;
  }

  OrtStatus* WriteContext(const OrtNode* fused, float sign, OrtNode*& context) const {
    const char* name = nullptr;
    Ignore(api->Node_GetName(fused, &name));
    const OrtValueInfo *input = nullptr, *output = nullptr;
    Ignore(api->Node_GetInputs(fused, &input, 1));
    Ignore(api->Node_GetOutputs(fused, &output, 1));
    const char *input_name = nullptr, *output_name = nullptr;
    Ignore(api->GetValueInfoName(input, &input_name));
    Ignore(api->GetValueInfoName(output, &output_name));
    std::string held = std::to_string(sign) + std::string("\0\1", 2);  // any bytes
    if (!embeds && functions.write != nullptr) {
      const std::string called = std::string(output_name) + ".bin";
      if (OrtStatus* status = functions.write(functions.write_state, called.c_str(), held.data(), held.size()))
        return status;
      held = called;
    } else if (!embeds) {
      const std::filesystem::path beside = file.parent_path() / (file.stem().string() + "_" + output_name + ".bin");
      std::ofstream(beside) << held;
      held = beside.filename().string();
    }
    const int64_t mode = embeds ? 1 : 0;
    OrtOpAttr* attributes[3] = {};
    Ignore(api->CreateOpAttr("source", kName, static_cast<int>(std::strlen(kName)), ORT_OP_ATTR_STRING, &attributes[0]));
    Ignore(api->CreateOpAttr("ep_cache_context", held.data(), static_cast<int>(held.size()), ORT_OP_ATTR_STRING,
                             &attributes[1]));
    Ignore(api->CreateOpAttr("embed_mode", &mode, 1, ORT_OP_ATTR_INT, &attributes[2]));
    return api->GetModelEditorApi()->CreateNode("EPContext", "com.microsoft", name, &input_name, 1, &output_name, 1,
                                                attributes, 3, &context);
  }
};

Info::Info(Ep& its_ep, float its_sign) : OrtNodeComputeInfo{}, ep(its_ep), sign(its_sign) {
  ort_version_supported = 31;
  CreateState = [](OrtNodeComputeInfo* info, OrtNodeComputeContext*, void** state) noexcept -> OrtStatus* {
    *state = info;
    return nullptr;
  };
  Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) noexcept -> OrtStatus* {
    return static_cast<Info*>(state)->Run(context);
  };
  ReleaseState = [](OrtNodeComputeInfo*, void*) {};
}

OrtStatus* Info::Run(OrtKernelContext* context) const {
  const OrtValue* input = nullptr;
  OrtValue* output = nullptr;
  const void* from = nullptr;
  void* to = nullptr;
  const int64_t shape[] = {3};
  if (OrtStatus* status = api->KernelContext_GetInput(context, 0, &input)) return status;
  if (OrtStatus* status = api->GetTensorData(input, &from)) return status;
  if (OrtStatus* status = api->KernelContext_GetOutput(context, 0, shape, 1, &output)) return status;
  if (OrtStatus* status = api->GetTensorMutableData(output, &to)) return status;
  ep.done.push_back({static_cast<const float*>(from), static_cast<float*>(to), 3, sign});
  ep.done.back().Do();
  return nullptr;
}

/// What a model was compiled for decides how it suits; what is unknown may do.
OrtStatus* Judge(OrtEpFactory*, const OrtHardwareDevice* const*, size_t devices, const char* info,
                 OrtCompiledModelCompatibility* answer) noexcept {
  const std::string text = devices == 1 ? info : "no device of its own";
  if (text == "failing") return api->CreateStatus(ORT_EP_FAIL, "the library fails");
  *answer = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  if (text == "this one") *answer = OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL;
  if (text == "an older one") *answer = OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION;
  if (text == "another one") *answer = OrtCompiledModelCompatibility_EP_UNSUPPORTED;
  return nullptr;
}

struct Factory : OrtEpFactory {
  Factory() : OrtEpFactory{} {
    ort_version_supported = 31;
    GetName = [](const OrtEpFactory*) -> const char* { return kName; };
    GetVendor = [](const OrtEpFactory*) -> const char* { return "Tests"; };
    GetVendorId = [](const OrtEpFactory*) -> uint32_t { return 0; };
    GetVersion = [](const OrtEpFactory*) -> const char* { return "1.0.0"; };
    // ONNX Runtime calls these whether a library has memory of its own or not.
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) { return false; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t, OrtEpDevice** found,
                             size_t, size_t* count) noexcept -> OrtStatus* {
      *count = 1;
      return api->GetEpApi()->CreateEpDevice(self, devices[0], nullptr, nullptr, &found[0]);
    };
    ValidateCompiledModelCompatibilityInfo = Judge;
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** ep) noexcept -> OrtStatus* {
      *ep = new Ep(options);
      return nullptr;
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Ep*>(ep); };
  }
};

}  // namespace

extern "C" {

ORT_EXPORT int CompilingProviderReplays() { return replays; }
ORT_EXPORT int CompilingProviderNodes() { return started_nodes == ended_nodes ? ended_nodes : -1; }

ORT_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*, OrtEpFactory** factories,
                                        size_t, size_t* count) {
  api = base->GetApi(31);
  factories[0] = new Factory;
  *count = 1;
  return nullptr;
}

ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}

}  // extern "C"
