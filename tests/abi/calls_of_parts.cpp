// Calls that most programs do without, and in orders that few have: type infos that are built, texts by name, strings of
// one element, sparse tensors of coordinates, bindings that are asked too early, devices.

#include <cstring>

#include "answers.h"

namespace {

OrtAllocator* Default() {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

void BuiltTypes() {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Must(api->CreateTensorTypeAndShapeInfo(&info));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
  Print("type of a new info", api->GetTensorElementType(info, &element));
  size_t count = 9;
  PrintValue("rank of a new info", api->GetDimensionsCount(info, &count), count);
  PrintValue("elements of a new info", api->GetTensorShapeElementCount(info, &count), count);
  std::printf("shape of a new info: %d\n", api->TensorTypeAndShape_HasShape(info));
  Print("SetTensorElementType", api->SetTensorElementType(info, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32));
  const int64_t dims[] = {2, -1, 5};
  Print("SetDimensions", api->SetDimensions(info, dims, 3));
  PrintValue("its rank", api->GetDimensionsCount(info, &count), count);
  int64_t read[4] = {7, 7, 7, 7};
  Print("two of three dimensions", api->GetDimensions(info, read, 2));
  std::printf("read: %lld %lld %lld\n", static_cast<long long>(read[0]), static_cast<long long>(read[1]),
              static_cast<long long>(read[2]));
  Print("four of three dimensions", api->GetDimensions(info, read, 4));
  std::printf("read more: %lld %lld\n", static_cast<long long>(read[2]), static_cast<long long>(read[3]));
  const char* names[] = {"a", "b", "c"};
  Print("three symbols", api->SetSymbolicDimensions(info, names, 3));
  const char* symbols[3] = {};
  Print("GetSymbolicDimensions", api->GetSymbolicDimensions(info, symbols, 3));
  std::printf("symbols: %s %s %s\n", symbols[0], symbols[1], symbols[2]);
  const int64_t four[] = {1, 2, 3, 4};
  Print("SetDimensions again", api->SetDimensions(info, four, 4));
  PrintValue("elements", api->GetTensorShapeElementCount(info, &count), count);
  Print("SetDimensions of none", api->SetDimensions(info, nullptr, 0));
  PrintValue("elements of a scalar", api->GetTensorShapeElementCount(info, &count), count);
  api->ReleaseTensorTypeAndShapeInfo(info);
}

void TextsByName() {
  OrtKeyValuePairs* pairs = nullptr;
  api->CreateKeyValuePairs(&pairs);
  api->AddKeyValuePair(pairs, "b", "2");
  api->AddKeyValuePair(pairs, "a", "1");
  api->AddKeyValuePair(pairs, "", "nothing");
  api->AddKeyValuePair(pairs, "c", "");
  api->AddKeyValuePair(pairs, "a", "3");
  const auto print = [&](const char* what) {
    const char* const* keys = nullptr;
    const char* const* values = nullptr;
    size_t count = 0;
    api->GetKeyValuePairs(pairs, &keys, &values, &count);
    std::printf("%s: %zu", what, count);
    for (size_t i = 0; i < count; ++i) std::printf(" %s=%s", keys[i], values[i]);
    std::printf("\n");
  };
  print("pairs");
  api->RemoveKeyValuePair(pairs, "b");
  api->RemoveKeyValuePair(pairs, "nothing");
  print("pairs after a removal");
  std::printf("a value: %s, none: %d\n", api->GetKeyValue(pairs, "a"), api->GetKeyValue(pairs, "b") == nullptr);
  api->ReleaseKeyValuePairs(pairs);
}

void Strings() {
  const int64_t shape[] = {2};
  OrtValue* value = nullptr;
  Must(api->CreateTensorAsOrtValue(Default(), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &value));
  const char* texts[] = {"one", "two", "three"};
  Print("three strings of two", api->FillStringTensor(value, texts, 3));
  Print("one string of two", api->FillStringTensor(value, texts, 1));
  Print("string 2 of 2", api->FillStringTensorElement(value, "x", 2));
  Print("string 1 of 2", api->FillStringTensorElement(value, "sieben", 1));
  size_t length = 0;
  PrintValue("its length", api->GetStringTensorElementLength(value, 1, &length), length);
  Print("length of string 2", api->GetStringTensorElementLength(value, 2, &length));
  char text[8] = {};
  Print("into 3 bytes", api->GetStringTensorElement(value, 3, 1, text));
  Print("into 6 bytes", api->GetStringTensorElement(value, 6, 1, text));
  std::printf("text: %s\n", text);
  char* buffer = nullptr;
  Print("resized", api->GetResizedStringTensorElementBuffer(value, 0, 4, &buffer));
  if (buffer != nullptr) std::memcpy(buffer, "four", 4);
  Print("resized string 5", api->GetResizedStringTensorElementBuffer(value, 5, 4, &buffer));
  PrintValue("length of all", api->GetStringTensorDataLength(value, &length), length);
  char all[16] = {};
  size_t offsets[2] = {};
  Print("contents into too little", api->GetStringTensorContent(value, all, 3, offsets, 2));
  Print("contents with one offset", api->GetStringTensorContent(value, all, 16, offsets, 1));
  Print("contents", api->GetStringTensorContent(value, all, length, offsets, 2));
  std::printf("contents: %s %zu %zu\n", all, offsets[0], offsets[1]);
  size_t bytes = 0;
  Print("bytes of strings", api->GetTensorSizeInBytes(value, &bytes));
  void* at = nullptr;
  const int64_t first[] = {0};
  Print("address of a string", api->TensorAt(value, first, 1, &at));
  api->ReleaseValue(value);
}

void Coordinates() {
  OrtMemoryInfo* info = nullptr;
  Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  const int64_t dense[] = {3, 3}, two[] = {2}, three[] = {3};
  float values[] = {1, 2, 3};
  int64_t linear[] = {2, 4}, pairs[] = {0, 2, 1, 1}, outside[] = {2, 9};
  const auto fill = [&](const char* call, const int64_t* shape, const int64_t* indices, size_t count) {
    OrtValue* value = nullptr;
    Must(api->CreateSparseTensorAsOrtValue(Default(), dense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    Print(call, api->FillSparseTensorCoo(value, info, shape, 1, values, indices, count));
    OrtTensorTypeAndShapeInfo* type = nullptr;
    size_t elements = 0;
    OrtStatusPtr status = api->GetSparseTensorValuesTypeAndShape(value, &type);
    if (status == nullptr) Must(api->GetTensorShapeElementCount(type, &elements));
    PrintValue("its values", status, elements);
    api->ReleaseTensorTypeAndShapeInfo(type);
    api->ReleaseValue(value);
  };
  fill("linear coordinates", two, linear, 2);
  fill("pairs of coordinates", two, pairs, 4);
  fill("three values for two coordinates", three, linear, 2);
  fill("odd number of coordinates", two, pairs, 3);
  fill("coordinates outside", two, outside, 2);
  OrtValue* value = nullptr;
  Must(api->CreateSparseTensorWithValuesAsOrtValue(info, values, dense, 2, two, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                                   &value));
  const void* read = nullptr;
  Print("values without a format", api->GetSparseTensorValues(value, &read));
  Print("UseCooIndices", api->UseCooIndices(value, linear, 2));
  Print("UseCooIndices again", api->UseCooIndices(value, linear, 2));
  int number = 0;
  PrintValue("a sparse tensor is a tensor", api->IsTensor(value, &number), number);
  PrintValue("and sparse", api->IsSparseTensor(value, &number), number);
  PrintValue("and something", api->HasValue(value, &number), number);
  void* data = nullptr;
  Print("data of a sparse tensor", api->GetTensorMutableData(value, &data));
  api->ReleaseValue(value);
  api->ReleaseMemoryInfo(info);
}

void EarlyBindings() {
  OrtSession* session = Session(tiny::Add());
  OrtIoBinding* binding = nullptr;
  Must(api->CreateIoBinding(session, &binding));
  char* names = nullptr;
  size_t* lengths = nullptr;
  size_t count = 9;
  PrintValue("outputs before any is bound", api->GetBoundOutputNames(binding, Default(), &names, &lengths, &count), count);
  OrtValue** outputs = nullptr;
  count = 9;
  PrintValue("their values", api->GetBoundOutputValues(binding, Default(), &outputs, &count), count);
  Print("a run of nothing bound", api->RunWithBinding(session, nullptr, binding));
  float data[] = {1, 2, 3, 4, 5, 6};
  OrtValue* value = Floats(data, {2, 3});
  Must(api->BindInput(binding, "A", value));
  Must(api->BindInput(binding, "B", value));
  Print("a run without outputs", api->RunWithBinding(session, nullptr, binding));
  OrtMemoryInfo* info = nullptr;
  Must(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info));
  Print("BindOutputToDevice", api->BindOutputToDevice(binding, "C", info));
  Print("BindOutputToDevice unknown", api->BindOutputToDevice(binding, "none", info));
  api->ClearBoundOutputs(binding);
  Must(api->BindOutputToDevice(binding, "C", info));
  count = 9;
  PrintValue("values before the run", api->GetBoundOutputValues(binding, Default(), &outputs, &count), count);
  for (size_t i = 0; i < count; ++i) api->ReleaseValue(outputs[i]);
  if (count > 0) Must(api->AllocatorFree(Default(), outputs));
  Print("the run", api->RunWithBinding(session, nullptr, binding));
  Must(api->GetBoundOutputValues(binding, Default(), &outputs, &count));
  Print("the run again", api->RunWithBinding(session, nullptr, binding));
  float* sums = nullptr;
  Must(api->GetTensorMutableData(outputs[0], reinterpret_cast<void**>(&sums)));
  std::printf("the first run's sum: %g\n", sums[5]);
  api->ReleaseValue(outputs[0]);
  Must(api->AllocatorFree(Default(), outputs));
  Print("SynchronizeBoundInputs", api->SynchronizeBoundInputs(binding));
  Print("SynchronizeBoundOutputs", api->SynchronizeBoundOutputs(binding));
  api->ClearBoundInputs(binding);
  Print("a run of cleared inputs", api->RunWithBinding(session, nullptr, binding));
  OrtSession* other = Session(tiny::Add(false, true));
  Must(api->BindInput(binding, "A", value));
  Must(api->BindInput(binding, "B", value));
  Print("a binding of another session", api->RunWithBinding(other, nullptr, binding));
  api->ReleaseSession(other);
  api->ReleaseMemoryInfo(info);
  api->ReleaseValue(value);
  api->ReleaseIoBinding(binding);
  api->ReleaseSession(session);
}

void Attributes() {
  const int64_t ints[] = {3, 4};
  const float number = 0.5F;
  const char* texts[] = {"a", "bc"};
  const auto make = [](const char* call, const void* data, int length, OrtOpAttrType type) {
    OrtOpAttr* attribute = nullptr;
    OrtStatusPtr status = api->CreateOpAttr("name", data, length, type, &attribute);
    if (status != nullptr) return Print(call, status);
    OrtOpAttrType read_type = ORT_OP_ATTR_UNDEFINED;
    PrintValue(call, api->OpAttr_GetType(attribute, &read_type), read_type);
    char room[32] = {};
    size_t size = 0;
    Print("no room for it", api->ReadOpAttr(attribute, type, nullptr, 0, &size));
    std::printf("bytes: %zu\n", size);
    Print("room for it", api->ReadOpAttr(attribute, type, room, sizeof(room), &size));
    Print("as another type", api->ReadOpAttr(attribute, type == ORT_OP_ATTR_INT ? ORT_OP_ATTR_FLOAT : ORT_OP_ATTR_INT, room,
                                             sizeof(room), &size));
    const char* name = nullptr;
    PrintValue("its name", api->OpAttr_GetName(attribute, &name), name);
    api->ReleaseOpAttr(attribute);
  };
  make("int", ints, 1, ORT_OP_ATTR_INT);
  make("ints", ints, 2, ORT_OP_ATTR_INTS);
  make("float", &number, 1, ORT_OP_ATTR_FLOAT);
  make("floats", &number, 1, ORT_OP_ATTR_FLOATS);
  make("string", "text", 4, ORT_OP_ATTR_STRING);
  make("strings", texts, 2, ORT_OP_ATTR_STRINGS);
  make("no type", ints, 1, ORT_OP_ATTR_UNDEFINED);
}

void SessionParts() {
  OrtSession* session = Session(tiny::AddWeight(false));
  size_t count = 9;
  PrintValue("weights that can be replaced", api->SessionGetOverridableInitializerCount(session, &count), count);
  char* name = nullptr;
  Print("the first one's name", api->SessionGetOverridableInitializerName(session, 0, Default(), &name));
  const OrtMemoryInfo* memories[2] = {};
  Print("memories of inputs", api->SessionGetMemoryInfoForInputs(session, memories, 1));
  Print("memories of two inputs", api->SessionGetMemoryInfoForInputs(session, memories, 2));
  Print("memories of outputs", api->SessionGetMemoryInfoForOutputs(session, memories, 1));
  Print("memories of no outputs", api->SessionGetMemoryInfoForOutputs(session, memories, 0));
  const OrtEpDevice* devices[2] = {};
  Print("devices of inputs", api->SessionGetEpDeviceForInputs(session, devices, 1));
  Print("devices of two inputs", api->SessionGetEpDeviceForInputs(session, devices, 2));
  Print("devices of outputs", api->SessionGetEpDeviceForOutputs(session, devices, 1));
  const OrtEpAssignedSubgraph* const* parts = nullptr;
  Print("parts that nobody wrote down", api->Session_GetEpGraphAssignmentInfo(session, &parts, &count));
  uint64_t start = 9;
  PrintValue("start of no profile", api->SessionGetProfilingStartTimeNs(session, &start), start != 0);
  const char* out[] = {"Y"};
  OrtValue* result = nullptr;
  Print("a run of nothing", api->Run(session, nullptr, nullptr, nullptr, 0, out, 1, &result));
  float data[] = {1, 2, 3};
  OrtValue* value = Floats(data, {1, 3});
  const char* twice[] = {"X", "X"};
  const OrtValue* values[] = {value, value};
  Print("an input given twice", api->Run(session, nullptr, twice, values, 2, out, 1, &result));
  api->ReleaseValue(result);
  result = nullptr;
  Print("an input named by nothing",
        api->Run(session, nullptr, std::initializer_list<const char*>{""}.begin(), values, 1, out, 1, &result));
  api->ReleaseValue(result);
  api->ReleaseValue(value);
  api->ReleaseSession(session);
}

void MoreOptions() {
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  Print("inter-op threads -1", api->SetInterOpNumThreads(options, -1));
  Print("verbosity -1", api->SetSessionLogVerbosityLevel(options, -1));
  Print("deterministic", api->SetDeterministicCompute(options, true));
  Print("no provider's devices",
        api->SessionOptionsAppendExecutionProvider_V2(options, env, nullptr, 0, nullptr, nullptr, 0));
  int number = 9;
  PrintValue("memory patterns", api->GetMemPatternEnabled(options, &number), number);
  Must(api->DisableMemPattern(options));
  PrintValue("memory patterns no more", api->GetMemPatternEnabled(options, &number), number);
  ExecutionMode mode = ORT_PARALLEL;
  PrintValue("execution mode", api->GetSessionExecutionMode(options, &mode), mode);
  OrtSessionOptions* copy = nullptr;
  Must(api->AddSessionConfigEntry(options, "key", "value"));
  Must(api->CloneSessionOptions(options, &copy));
  Must(api->AddSessionConfigEntry(options, "key", "changed"));
  char text[16] = {};
  size_t size = sizeof(text);
  PrintValue("the copy's entry", api->GetSessionConfigEntry(copy, "key", text, &size), text);
  PrintValue("the copy's memory patterns", api->GetMemPatternEnabled(copy, &number), number);
  api->ReleaseSessionOptions(options);
  OrtSession* session = nullptr;
  const std::string model = tiny::Add();
  Print("a session of the copy", api->CreateSessionFromArray(env, model.data(), model.size(), copy, &session));
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(copy);
  Print("log level 9", api->UpdateEnvWithCustomLogLevel(env, static_cast<OrtLoggingLevel>(9)));
  OrtRunOptions* run = nullptr;
  Must(api->CreateRunOptions(&run));
  const char* tag = nullptr;
  PrintValue("no tag", api->RunOptionsGetRunTag(run, &tag), tag);
  Print("null tag", api->RunOptionsSetRunTag(run, nullptr));
  PrintValue("severity", api->RunOptionsGetRunLogSeverityLevel(run, &number), number);
  PrintValue("verbosity", api->RunOptionsGetRunLogVerbosityLevel(run, &number), number);
  Print("an entry without a name", api->AddRunConfigEntry(run, "", "x"));
  std::printf("no such entry: %d\n", api->GetRunConfigEntry(run, "none") == nullptr);
  api->ReleaseRunOptions(run);
}

void Memories() {
  OrtKeyValuePairs* stats = nullptr;
  Print("stats of the default allocator", api->AllocatorGetStats(Default(), &stats));
  api->ReleaseKeyValuePairs(stats);
  OrtMemoryInfo* info = nullptr;
  Print("CreateMemoryInfo_V2",
        api->CreateMemoryInfo_V2("Mine", OrtMemoryInfoDeviceType_NPU, 0x1234, 3, OrtDeviceMemoryType_HOST_ACCESSIBLE, 64,
                                 OrtDeviceAllocator, &info));
  const char* name = nullptr;
  int id = 0;
  PrintValue("its name", api->MemoryInfoGetName(info, &name), name);
  PrintValue("its id", api->MemoryInfoGetId(info, &id), id);
  OrtMemType type = OrtMemTypeCPUInput;
  PrintValue("type of that memory", api->MemoryInfoGetMemType(info, &type), type);
  std::printf("its vendor: %u, kind %d\n", api->MemoryInfoGetVendorId(info), api->MemoryInfoGetDeviceMemType(info));
  OrtMemoryInfo* other = nullptr;
  Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &other));
  PrintValue("two memories", api->CompareMemoryInfo(info, other, &id), id);
  PrintValue("one memory", api->CompareMemoryInfo(other, other, &id), id);
  OrtMemoryInfo* arena = nullptr;
  Must(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &arena));
  PrintValue("arena and device", api->CompareMemoryInfo(arena, other, &id), id);
  OrtAllocator* shared = nullptr;
  PrintValue("shared allocator", api->GetSharedAllocator(env, other, &shared), shared != nullptr);
  shared = nullptr;
  PrintValue("shared allocator of another memory", api->GetSharedAllocator(env, info, &shared), shared != nullptr);
  float data[] = {1, 2, 3, 4}, target[] = {0, 0, 0, 0};
  OrtValue *from = Floats(data, {2, 2}), *to = Floats(target, {2, 2}), *small = Floats(target, {3});
  const OrtValue* sources[] = {from};
  OrtValue* targets[] = {to};
  Print("CopyTensors", api->CopyTensors(env, sources, targets, nullptr, 1));
  std::printf("copied: %g\n", target[3]);
  targets[0] = small;
  Print("CopyTensors into too little", api->CopyTensors(env, sources, targets, nullptr, 1));
  Print("CopyTensors of none", api->CopyTensors(env, sources, targets, nullptr, 0));
  void* at = nullptr;
  const int64_t last[] = {1, 1}, past[] = {1, 2}, negative[] = {-1, 0};
  Print("address", api->TensorAt(to, last, 2, &at));
  Print("address past the end", api->TensorAt(to, past, 2, &at));
  Print("address before the start", api->TensorAt(to, negative, 2, &at));
  Print("address by one index", api->TensorAt(to, last, 1, &at));
  for (OrtValue* value : {from, to, small}) api->ReleaseValue(value);
  for (OrtMemoryInfo* one : {info, other, arena}) api->ReleaseMemoryInfo(one);
}

void Threads() {
  OrtThreadingOptions* threads = nullptr;
  Must(api->CreateThreadingOptions(&threads));
  Print("global intra-op threads -3", api->SetGlobalIntraOpNumThreads(threads, -3));
  Print("global spinning 7", api->SetGlobalSpinControl(threads, 7));
  Print("global affinity of nothing", api->SetGlobalIntraOpThreadAffinity(threads, ""));
  Print("global affinity", api->SetGlobalIntraOpThreadAffinity(threads, "1"));
  Print("global denormals", api->SetGlobalDenormalAsZero(threads));
  api->ReleaseThreadingOptions(threads);
  OrtStatus* fine = api->CreateStatus(ORT_OK, "fine");
  std::printf("a status that is fine: %d\n", fine == nullptr);
  api->ReleaseStatus(fine);
}

}  // namespace

void PartCalls() {
  BuiltTypes();
  TextsByName();
  Strings();
  Coordinates();
  EarlyBindings();
  Attributes();
  SessionParts();
  MoreOptions();
  Memories();
  Threads();
}
