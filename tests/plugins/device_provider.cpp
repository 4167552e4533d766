// A library whose provider has kernels and a memory of its own, whose addresses mean nothing to anybody else, and streams:
// what is put on one is not done before somebody waits for a notification. It is strict: operands that are not in the
// memory that their definition says are an error, and a stream that is released before it was told that its run is over
// ends the process.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph_reader.h"

namespace {

constexpr const char* kName = "DeviceExecutionProvider";
constexpr const char* kMemory = "TestBuffer";
constexpr uint32_t kVendor = 0x7e57;
constexpr uintptr_t kHidden = uintptr_t{1} << 62;  // no address of a process has this bit
OrtMemoryInfo* memory = nullptr;

OrtStatus* Complaint(const std::string& text) { return api->CreateStatus(ORT_EP_FAIL, text.c_str()); }
void* Hidden(void* address) { return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) ^ kHidden); }

bool IsOurs(const OrtValue* value) {
  const OrtMemoryInfo* info = nullptr;
  Ignore(api->GetTensorMemoryInfo(value, &info));
  const char* name = nullptr;
  Ignore(api->MemoryInfoGetName(info, &name));
  return std::strcmp(name, kMemory) == 0;
}

void* AddressOf(const OrtValue* value) {
  void* data = nullptr;
  Ignore(api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  return IsOurs(value) && data != nullptr ? Hidden(data) : data;
}

std::vector<int64_t> ShapeOf(const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Ignore(api->GetTensorTypeAndShape(value, &info));
  size_t rank = 0;
  Ignore(api->GetDimensionsCount(info, &rank));
  std::vector<int64_t> shape(rank);
  Ignore(api->GetDimensions(info, shape.data(), rank));
  api->ReleaseTensorTypeAndShapeInfo(info);
  return shape;
}

size_t BytesOf(const OrtValue* value) {
  size_t bytes = 0;
  Ignore(api->GetTensorSizeInBytes(value, &bytes));
  return bytes;
}

struct Allocator : OrtAllocator {
  Allocator() : OrtAllocator{} {
    version = 24;
    Alloc = [](OrtAllocator*, size_t bytes) -> void* { return Hidden(std::malloc(bytes)); };
    Free = [](OrtAllocator*, void* buffer) { std::free(Hidden(buffer)); };
    Info = [](const OrtAllocator*) -> const OrtMemoryInfo* { return memory; };
  }
};

/// A stream: work that waits.
struct Queue : OrtSyncStreamImpl {
  std::vector<std::function<void()>> work;
  bool in_run = false;

  struct Notification : OrtSyncNotificationImpl {
    Queue& queue;
    size_t reached = 0;

    explicit Notification(Queue& its_queue) : OrtSyncNotificationImpl{}, queue(its_queue) {
      ort_version_supported = 24;
      Release = [](OrtSyncNotificationImpl* self) noexcept { delete static_cast<Notification*>(self); };
      Activate = [](OrtSyncNotificationImpl* self) noexcept -> OrtStatus* {
        auto& own = *static_cast<Notification*>(self);
        own.reached = own.queue.work.size();
        return nullptr;
      };
      WaitOnHost = [](OrtSyncNotificationImpl* self) noexcept -> OrtStatus* {
        auto& own = *static_cast<Notification*>(self);
        own.queue.Do(own.reached);
        own.reached = 0;
        return nullptr;
      };
    }
  };

  Queue() : OrtSyncStreamImpl{} {
    ort_version_supported = 24;
    Release = [](OrtSyncStreamImpl* self) noexcept { delete static_cast<Queue*>(self); };
    GetHandle = [](OrtSyncStreamImpl* self) noexcept -> void* { return self; };
    Flush = [](OrtSyncStreamImpl*) noexcept -> OrtStatus* { return nullptr; };  // it is on its way
    CreateNotification = [](OrtSyncStreamImpl* self, OrtSyncNotificationImpl** made) noexcept -> OrtStatus* {
      *made = new Notification(*static_cast<Queue*>(self));
      return nullptr;
    };
    OnSessionRunEnd = [](OrtSyncStreamImpl* self) noexcept -> OrtStatus* {
      auto& own = *static_cast<Queue*>(self);
      if (!own.work.empty()) own.Die("a run ended with work left");
      own.in_run = false;
      return nullptr;
    };
  }
  ~Queue() {
    if (in_run) Die("nobody said that the run was over");
  }
  void Do(size_t count) {
    for (size_t i = 0; i < count; ++i) work[i]();
    work.erase(work.begin(), work.begin() + static_cast<std::ptrdiff_t>(count));
  }
  [[noreturn]] static void Die(const char* what) {
    std::fprintf(stderr, "DeviceExecutionProvider's stream: %s\n", what);
    std::abort();
  }
};

/// Later, on the stream; at once where there is none.
void Put(const OrtSyncStream* stream, std::function<void()> work) {
  if (stream == nullptr) return work();
  const OrtSyncStreamImpl* impl = api->GetEpApi()->SyncStream_GetImpl(stream);
  auto& queue = *static_cast<Queue*>(const_cast<OrtSyncStreamImpl*>(impl));
  queue.in_run = true;
  queue.work.push_back(std::move(work));
}

void PutCopy(const OrtSyncStream* stream, const OrtValue* from, const OrtValue* to) {
  const size_t bytes = BytesOf(from);
  if (bytes == 0) return;
  Put(stream, [source = AddressOf(from), target = AddressOf(to), bytes] { std::memmove(target, source, bytes); });
}

struct Transfer : OrtDataTransferImpl {
  Transfer() : OrtDataTransferImpl{} {
    ort_version_supported = 24;
    Release = [](OrtDataTransferImpl* self) noexcept { delete static_cast<Transfer*>(self); };
    CanCopy = [](const OrtDataTransferImpl*, const OrtMemoryDevice* from, const OrtMemoryDevice* to) noexcept {
      const OrtEpApi& ep = *api->GetEpApi();
      return ep.MemoryDevice_GetVendorId(from) == kVendor || ep.MemoryDevice_GetVendorId(to) == kVendor;
    };
    CopyTensors = [](OrtDataTransferImpl*, const OrtValue** from, OrtValue** to, OrtSyncStream** streams,
                     size_t count) noexcept -> OrtStatus* {
      for (size_t i = 0; i < count; ++i) PutCopy(streams == nullptr ? nullptr : streams[i], from[i], to[i]);
      return nullptr;
    };
  }
};

/// What a kernel computes, and where its operands are.
struct Operator {
  const char* type;
  int first_version;
  int host_input = -1, host_output = -1;
  OrtStatus* (*compute)(OrtKernelContext*, const std::vector<const OrtValue*>&) = nullptr;
};

OrtStatus* Result(OrtKernelContext* context, const std::vector<int64_t>& shape, OrtValue** out) {
  return api->KernelContext_GetOutput(context, 0, shape.data(), shape.size(), out);
}

const OrtSyncStream* StreamOf(const OrtKernelContext* context) {
  OrtSyncStream* stream = nullptr;
  Ignore(api->KernelContext_GetSyncStream(context, &stream));
  return stream;
}

size_t CountOf(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  return count;
}

OrtStatus* Negate(OrtKernelContext* context, const std::vector<const OrtValue*>& inputs) {
  const std::vector<int64_t> shape = ShapeOf(inputs[0]);
  OrtValue* out = nullptr;
  if (OrtStatus* status = Result(context, shape, &out)) return status;
  const auto* from = static_cast<const float*>(AddressOf(inputs[0]));
  auto* to = static_cast<float*>(AddressOf(out));
  Put(StreamOf(context), [from, to, count = CountOf(shape)] { std::transform(from, from + count, to, std::negate<>()); });
  return nullptr;
}

OrtStatus* Reshape(OrtKernelContext* context, const std::vector<const OrtValue*>& inputs) {
  const std::vector<int64_t> before = ShapeOf(inputs[0]);
  const auto* asked = static_cast<const int64_t*>(AddressOf(inputs[1]));
  std::vector<int64_t> shape(asked, asked + ShapeOf(inputs[1]).at(0));
  size_t known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i < before.size()) shape[i] = before[i];
    if (shape[i] > 0) known *= static_cast<size_t>(shape[i]);
  }
  for (int64_t& size : shape) {
    if (size < 0) size = static_cast<int64_t>(CountOf(before) / known);
  }
  OrtValue* out = nullptr;
  if (OrtStatus* status = Result(context, shape, &out)) return status;
  PutCopy(StreamOf(context), inputs[0], out);
  return nullptr;
}

OrtStatus* ShapeIs(OrtKernelContext* context, const std::vector<const OrtValue*>& inputs) {
  const std::vector<int64_t> shape = ShapeOf(inputs[0]);
  OrtValue* out = nullptr;
  if (OrtStatus* status = Result(context, {static_cast<int64_t>(shape.size())}, &out)) return status;
  if (IsOurs(out)) return Complaint("the output of Shape is in device memory");
  std::copy(shape.begin(), shape.end(), static_cast<int64_t*>(AddressOf(out)));
  return nullptr;
}

const Operator kOperators[] = {{"Neg", 13, -1, -1, Negate}, {"Reshape", 5, 1, -1, Reshape}, {"Shape", 1, -1, 0, ShapeIs}};

struct Kernel : OrtKernelImpl {
  const Operator& op;
  const OrtKernelInfo* const info;  // lives as long as the kernel

  Kernel(const Operator& its_operator, const OrtKernelInfo* its_info) : OrtKernelImpl{}, op(its_operator), info(its_info) {
    ort_version_supported = 24;
    OrtKernelImpl::Release = [](OrtKernelImpl* self) noexcept { delete static_cast<Kernel*>(self); };
    OrtKernelImpl::Compute = [](OrtKernelImpl* self, OrtKernelContext* context) noexcept -> OrtStatus* {
      return static_cast<Kernel*>(self)->Run(context);
    };
  }

  OrtStatus* CheckPlace(size_t input, const OrtValue* value) const {
    const bool host = static_cast<int>(input) == op.host_input;
    if (IsOurs(value) != host) return nullptr;
    return Complaint(std::string(op.type) + ": input " + std::to_string(input) + " is in the other memory");
  }

  OrtStatus* CheckConstants() const {
    size_t count = 0;
    Ignore(api->KernelInfo_GetInputCount(info, &count));
    for (size_t i = 0; i < count; ++i) {
      int is_constant = 0;
      const OrtValue* value = nullptr;
      Ignore(api->KernelInfoGetConstantInput_tensor(info, i, &is_constant, &value));
      if (is_constant == 0) continue;
      if (OrtStatus* status = CheckPlace(i, value)) return status;
    }
    return nullptr;
  }

  OrtStatus* Run(OrtKernelContext* context) const {
    size_t bytes = 0;
    if (OrtStatus* status = api->KernelInfo_GetNodeName(info, nullptr, &bytes)) return status;
    size_t count = 0;
    Ignore(api->KernelContext_GetInputCount(context, &count));
    std::vector<const OrtValue*> inputs(count);
    for (size_t i = 0; i < count; ++i) {
      Ignore(api->KernelContext_GetInput(context, i, &inputs[i]));
      if (inputs[i] == nullptr) return Complaint("an input is missing");
      if (OrtStatus* status = CheckPlace(i, inputs[i])) return status;
    }
    return op.compute(context, inputs);
  }
};

OrtStatus* CreateKernel(void* op, const OrtKernelInfo* info, OrtKernelImpl** kernel) noexcept {
  auto made = std::make_unique<Kernel>(*static_cast<const Operator*>(op), info);
  if (OrtStatus* status = made->CheckConstants()) return status;
  *kernel = made.release();
  return nullptr;
}

OrtKernelRegistry* MakeRegistry() {
  const OrtEpApi& ep = *api->GetEpApi();
  OrtKernelRegistry* registry = nullptr;
  Ignore(ep.CreateKernelRegistry(&registry));
  const OrtDataType* floats = nullptr;
  Ignore(ep.GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &floats));
  for (const Operator& op : kOperators) {
    OrtKernelDefBuilder* builder = nullptr;
    OrtKernelDef* definition = nullptr;
    Ignore(ep.CreateKernelDefBuilder(&builder));
    Ignore(ep.KernelDefBuilder_SetOperatorType(builder, op.type));
    Ignore(ep.KernelDefBuilder_SetDomain(builder, ""));
    Ignore(ep.KernelDefBuilder_SetSinceVersion(builder, op.first_version, 30));
    Ignore(ep.KernelDefBuilder_SetExecutionProvider(builder, kName));
    Ignore(ep.KernelDefBuilder_AddTypeConstraint(builder, "T", &floats, 1));
    if (op.host_input >= 0)
      Ignore(ep.KernelDefBuilder_SetInputMemType(builder, static_cast<size_t>(op.host_input), OrtMemTypeCPUInput));
    if (op.host_output >= 0)
      Ignore(ep.KernelDefBuilder_SetOutputMemType(builder, static_cast<size_t>(op.host_output), OrtMemTypeCPUOutput));
    Ignore(ep.KernelDefBuilder_Build(builder, &definition));
    Ignore(ep.KernelRegistry_AddKernel(registry, definition, CreateKernel, const_cast<Operator*>(&op)));
    ep.ReleaseKernelDef(definition);
    ep.ReleaseKernelDefBuilder(builder);
  }
  return registry;
}

/// Attributes that change what a kernel here would compute.
bool IsPlain(const OrtNode* node) {
  size_t count = 0;
  Ignore(api->Node_GetNumAttributes(node, &count));
  std::vector<const OrtOpAttr*> attributes(count);
  Ignore(api->Node_GetAttributes(node, attributes.data(), count));
  for (const OrtOpAttr* attribute : attributes) {
    int64_t value = 0;
    size_t bytes = 0;
    OrtStatus* status = api->ReadOpAttr(attribute, ORT_OP_ATTR_INT, &value, sizeof value, &bytes);
    if (status != nullptr || value != 0) return Ignore(status), false;
  }
  return true;
}

struct Ep : OrtEp {
  OrtKernelRegistry* const registry = MakeRegistry();

  Ep() : OrtEp{} {
    ort_version_supported = 24;
    GetName = [](const OrtEp*) noexcept -> const char* { return kName; };
    GetKernelRegistry = [](OrtEp* self, const OrtKernelRegistry** found) noexcept -> OrtStatus* {
      *found = static_cast<Ep*>(self)->registry;
      return nullptr;
    };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* support) noexcept -> OrtStatus* {
      const OrtEpApi& ep = *api->GetEpApi();
      for (const OrtNode* node : NodesOf(graph)) {
        const OrtKernelDef* kernel = nullptr;
        if (OrtStatus* status = ep.EpGraphSupportInfo_LookUpKernel(support, node, &kernel)) return status;
        if (kernel == nullptr || !IsPlain(node)) continue;
        if (OrtStatus* status = ep.EpGraphSupportInfo_AddSingleNode(support, node)) return status;
      }
      return nullptr;
    };
  }
  ~Ep() { api->GetEpApi()->ReleaseKernelRegistry(registry); }
};

/// y = 2 x, as an operator of the library's own: on the host, or where the provider's memory is, and then of y itself,
/// which begins as x.
struct Doubling : OrtCustomOp {
  explicit Doubling(bool on_device) : OrtCustomOp{} {
    version = 24;
    GetName = on_device ? [](const OrtCustomOp*) { return "OnDevice"; } : [](const OrtCustomOp*) { return "OnHost"; };
    GetExecutionProviderType = on_device ? [](const OrtCustomOp*) -> const char* { return kName; }
                                         : [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputTypeCount = GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
    GetInputType = GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    GetInputCharacteristic = GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    if (on_device) {
      GetAliasMap = [](int** input, int** output) -> size_t {
        *input = new int[1]{0};
        *output = new int[1]{0};
        return 1;
      };
      ReleaseAliasMap = [](int* input, int* output) {
        delete[] input;
        delete[] output;
      };
    }
    CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo*, void** kernel) -> OrtStatusPtr {
      *kernel = const_cast<OrtCustomOp*>(op);
      return nullptr;
    };
    KernelDestroy = [](void*) {};
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) -> OrtStatusPtr {
      const bool here = static_cast<OrtCustomOp*>(kernel)->GetExecutionProviderType(nullptr) != nullptr;
      const OrtValue* input = nullptr;
      OrtValue* output = nullptr;
      Ignore(api->KernelContext_GetInput(context, 0, &input));
      const std::vector<int64_t> shape = ShapeOf(input);
      if (OrtStatus* status = Result(context, shape, &output)) return status;
      if (IsOurs(input) != here || IsOurs(output) != here)
        return Complaint("an operator's operands are in the other memory");
      auto* to = static_cast<float*>(AddressOf(output));
      const auto* from = here ? to : static_cast<const float*>(AddressOf(input));
      Put(StreamOf(context),
          [from, to, count = CountOf(shape)] { std::transform(from, from + count, to, [](float x) { return 2 * x; }); });
      return nullptr;
    };
  }
};

OrtCustomOpDomain* operators = nullptr;

struct Factory : OrtEpFactory {
  Factory() : OrtEpFactory{} {
    ort_version_supported = 24;
    GetName = [](const OrtEpFactory*) noexcept -> const char* { return kName; };
    GetVendor = [](const OrtEpFactory*) noexcept -> const char* { return "Tests"; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t, OrtEpDevice** found,
                             size_t, size_t* count) noexcept -> OrtStatus* {
      const OrtEpApi& ep = *api->GetEpApi();
      if (OrtStatus* status = ep.CreateEpDevice(self, devices[0], nullptr, nullptr, &found[0])) return status;
      *count = 1;
      return ep.EpDevice_AddAllocatorInfo(found[0], memory);
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions*, const OrtLogger*, OrtEp** ep) noexcept -> OrtStatus* {
      *ep = new Ep;
      return nullptr;
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Ep*>(ep); };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** allocator) noexcept -> OrtStatus* {
      *allocator = new Allocator;
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* allocator) noexcept { delete static_cast<Allocator*>(allocator); };
    GetNumCustomOpDomains = [](OrtEpFactory*, size_t* count) noexcept -> OrtStatus* {
      *count = 1;
      return nullptr;
    };
    GetCustomOpDomains = [](OrtEpFactory*, OrtCustomOpDomain** domains, size_t) noexcept -> OrtStatus* {
      domains[0] = operators;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return true; };
    CreateSyncStreamForDevice = [](OrtEpFactory*, const OrtMemoryDevice*, const OrtKeyValuePairs*,
                                   OrtSyncStreamImpl** stream) noexcept -> OrtStatus* {
      *stream = new Queue;
      return nullptr;
    };
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
      *transfer = new Transfer;
      return nullptr;
    };
  }
};

}  // namespace

extern "C" {

ORT_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*, OrtEpFactory** factories,
                                        size_t, size_t* count) {
  api = base->GetApi(24);
  if (OrtStatus* status = api->CreateMemoryInfo_V2(kMemory, OrtMemoryInfoDeviceType_GPU, kVendor, 0,
                                                   OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &memory))
    return status;
  static const Doubling on_host(false), on_device(true);
  if (OrtStatus* status = api->CreateCustomOpDomain("device.ops", &operators)) return status;
  if (OrtStatus* status = api->CustomOpDomain_Add(operators, &on_host)) return status;
  if (OrtStatus* status = api->CustomOpDomain_Add(operators, &on_device)) return status;
  factories[0] = new Factory;
  *count = 1;
  return nullptr;
}

ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  api->ReleaseCustomOpDomain(operators);
  api->ReleaseMemoryInfo(memory);
  return nullptr;
}

}  // extern "C"
