// A program in C++ on ONNX Runtime's own header: goes through what its wrapper offers and prints what it finds, for run.sh
// to compare.

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "onnxruntime_cxx_api.h"

namespace {

std::string models;
float left[] = {1, 2, 3, 4, 5, 6}, right[] = {10, 20, 30, 40, 50, 60};
const int64_t kShape[] = {2, 3};
const char* const kInputs[] = {"A", "B"};
const char* const kOutputs[] = {"C"};

/// Prints the code that the call ends with.
void Code(const char* what, const std::function<void()>& call) {
  try {
    call();
    std::printf("%s: fine\n", what);
  } catch (const Ort::Exception& error) {
    std::printf("%s: code %d\n", what, static_cast<int>(error.GetOrtErrorCode()));
  } catch (const std::exception&) {
    std::printf("%s: another exception\n", what);
  }
}

Ort::MemoryInfo Cpu() { return Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault); }

Ort::Value View(float* data) { return Ort::Value::CreateTensor<float>(Cpu(), data, 6, kShape, 2); }

void PrintFloats(const char* what, const Ort::Value& value) {
  const float* data = value.GetTensorData<float>();
  std::printf("%s:", what);
  for (size_t i = 0; i < value.GetTensorTypeAndShapeInfo().GetElementCount(); ++i) std::printf(" %g", data[i]);
  std::printf("\n");
}

void PrintType(const char* what, const Ort::TypeInfo& type) {
  std::printf("%s: kind %d", what, type.GetONNXType());
  if (type.GetONNXType() == ONNX_TYPE_TENSOR) {
    const auto tensor = type.GetTensorTypeAndShapeInfo();
    std::printf(" of %d", tensor.GetElementType());
    for (const int64_t dim : tensor.GetShape()) std::printf(" %lld", static_cast<long long>(dim));
    for (const char* symbol : tensor.GetSymbolicDimensions()) std::printf(" '%s'", symbol);
  } else if (type.GetONNXType() == ONNX_TYPE_SEQUENCE) {
    std::printf(" of kind %d", type.GetSequenceTypeInfo().GetSequenceElementType().GetONNXType());
  } else if (type.GetONNXType() == ONNX_TYPE_MAP) {
    const auto map = type.GetMapTypeInfo();
    std::printf(" from %d to kind %d", map.GetMapKeyType(), map.GetMapValueType().GetONNXType());
  }
  std::printf("\n");
}

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Ort::SessionOptions ConfiguredOptions() {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(2).SetInterOpNumThreads(1).SetGraphOptimizationLevel(ORT_ENABLE_EXTENDED);
  options.SetExecutionMode(ORT_SEQUENTIAL).EnableMemPattern().EnableCpuMemArena().SetLogId("cxx").SetLogSeverityLevel(3);
  options.AddConfigEntry("session.set_denormal_as_zero", "0").AddConfigEntry("made.up", "value");
  std::printf("config: %s %s %d\n", options.GetConfigEntry("made.up").c_str(),
              options.GetConfigEntryOrDefault("absent", "default").c_str(), options.HasConfigEntry("absent"));
  return options;
}

void InputsAndOutputs(const Ort::Session& session) {
  Ort::AllocatorWithDefaultOptions allocator;
  for (size_t i = 0; i < session.GetInputCount(); ++i) {
    const auto name = session.GetInputNameAllocated(i, allocator);
    PrintType(name.get(), session.GetInputTypeInfo(i));
  }
  for (size_t i = 0; i < session.GetOutputCount(); ++i) {
    const auto name = session.GetOutputNameAllocated(i, allocator);
    PrintType(name.get(), session.GetOutputTypeInfo(i));
  }
  for (const std::string& name : session.GetInputNames()) std::printf("input %s\n", name.c_str());
  std::printf("%zu overridable\n", session.GetOverridableInitializerCount());
}

void Metadata(const Ort::Session& session) {
  Ort::AllocatorWithDefaultOptions allocator;
  const Ort::ModelMetadata metadata = session.GetModelMetadata();
  std::printf("metadata: %s %s %s %s %s %lld\n", metadata.GetProducerNameAllocated(allocator).get(),
              metadata.GetGraphNameAllocated(allocator).get(), metadata.GetDomainAllocated(allocator).get(),
              metadata.GetDescriptionAllocated(allocator).get(), metadata.GetGraphDescriptionAllocated(allocator).get(),
              static_cast<long long>(metadata.GetVersion()));
  for (const auto& key : metadata.GetCustomMetadataMapKeysAllocated(allocator)) {
    std::printf("metadata %s: %s\n", key.get(), metadata.LookupCustomMetadataMapAllocated(key.get(), allocator).get());
  }
  std::printf("no such key: %d\n", metadata.LookupCustomMetadataMapAllocated("none", allocator) == nullptr);
}

void Runs(Ort::Session& session) {
  Ort::Value inputs[] = {View(left), View(right)};
  const auto results = session.Run(Ort::RunOptions{nullptr}, kInputs, inputs, 2, kOutputs, 1);
  PrintFloats("run", results[0]);
  float sums[6] = {};
  Ort::Value given = View(sums);
  session.Run(Ort::RunOptions(), kInputs, inputs, 2, kOutputs, &given, 1);
  PrintFloats("run into", given);
}

void SessionsFromBytes(const Ort::Env& env) {
  Ort::Value inputs[] = {View(left), View(right)};
  const std::string bytes = Bytes(models + "/add.onnx");
  Ort::Session from_bytes(env, bytes.data(), bytes.size(), Ort::SessionOptions());
  PrintFloats("from bytes", from_bytes.Run({}, kInputs, inputs, 2, kOutputs, 1)[0]);
  Ort::PrepackedWeightsContainer prepacked;
  Ort::Session shared(env, bytes.data(), bytes.size(), Ort::SessionOptions(), prepacked);
  PrintFloats("prepacked", shared.Run({}, kInputs, inputs, 2, kOutputs, 1)[0]);
}

void RunsWithOptions(Ort::Session& session) {
  Ort::Value inputs[] = {View(left), View(right)};
  Ort::RunOptions run;
  run.SetRunLogSeverityLevel(4).SetRunLogVerbosityLevel(1).SetRunTag("tag").AddConfigEntry("a", "b");
  std::printf("run options: %d %d %s %s\n", run.GetRunLogSeverityLevel(), run.GetRunLogVerbosityLevel(), run.GetRunTag(),
              run.GetConfigEntry("a"));
  run.SetTerminate();
  Code("terminated", [&] { session.Run(run, kInputs, inputs, 2, kOutputs, 1); });
  run.UnsetTerminate();
  Code("no longer", [&] { session.Run(run, kInputs, inputs, 2, kOutputs, 1); });
  Code("one input", [&] { session.Run(run, kInputs, inputs, 1, kOutputs, 1); });
  const char* const unknown[] = {"Z"};
  Code("unknown output", [&] { session.Run(run, kInputs, inputs, 2, unknown, 1); });
}

void SessionsThatFail(const Ort::Env& env) {
  Code("missing file", [&] { Ort::Session(env, "/none/such.onnx", Ort::SessionOptions()); });
  Code("garbage", [&] { Ort::Session(env, "garbage!", 8, Ort::SessionOptions()); });
  Code("optimization level 7",
       [&] { Ort::SessionOptions().SetGraphOptimizationLevel(static_cast<GraphOptimizationLevel>(7)); });
}

void MemoryOfValues(const Ort::Session& session) {
  for (const auto& info : session.GetMemoryInfoForInputs()) std::printf("input in %s\n", info.GetAllocatorName().c_str());
  for (const auto& info : session.GetMemoryInfoForOutputs()) std::printf("output in %s\n", info.GetAllocatorName().c_str());
}

void RunsAsync(Ort::Session& session) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  } state;
  Ort::Value inputs[] = {View(left), View(right)};
  std::vector<Ort::Value> outputs;
  outputs.emplace_back(nullptr);
  session.RunAsync(
      Ort::RunOptions{nullptr}, kInputs, inputs, 2, kOutputs, outputs.data(), 1,
      [](void* user, OrtValue** /*outputs*/, size_t count, OrtStatusPtr status) {
        auto& shared_state = *static_cast<Shared*>(user);
        std::printf("async: %zu %d\n", count, Ort::Status(status).IsOK());
        const std::lock_guard lock(shared_state.mutex);
        shared_state.done = true;
        shared_state.changed.notify_one();
      },
      &state);
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.done; });
  PrintFloats("async", outputs[0]);
}

void Sessions(const Ort::Env& env) {
  const Ort::SessionOptions options = ConfiguredOptions();
  const Ort::SessionOptions copy = options.Clone();
  Ort::Session session(env, (models + "/add.onnx").c_str(), copy);
  InputsAndOutputs(session);
  Metadata(session);
  Runs(session);
  SessionsFromBytes(env);
  RunsWithOptions(session);
  SessionsThatFail(env);
  MemoryOfValues(session);
  RunsAsync(session);
}

void Bindings(const Ort::Env& env) {
  Ort::Session session(env, (models + "/add.onnx").c_str(), Ort::SessionOptions());
  Ort::IoBinding binding(session);
  Ort::Value a = View(left), b = View(right);
  binding.BindInput("A", a);
  binding.BindInput("B", b);
  float sums[6] = {};
  Ort::Value c = View(sums);
  binding.BindOutput("C", c);
  binding.SynchronizeInputs();
  session.Run(Ort::RunOptions(), binding);
  binding.SynchronizeOutputs();
  PrintFloats("bound", c);
  binding.ClearBoundOutputs();
  binding.BindOutput("C", Cpu());
  session.Run(Ort::RunOptions(), binding);
  for (const std::string& name : binding.GetOutputNames()) std::printf("bound %s\n", name.c_str());
  for (const Ort::Value& value : binding.GetOutputValues()) PrintFloats("bound to memory", value);
  Code("bind no input", [&] { binding.BindInput("Z", a); });
  Code("bind no output", [&] { binding.BindOutput("Z", c); });
  Code("run that", [&] { session.Run(Ort::RunOptions(), binding); });
  binding.ClearBoundInputs();
}

/// Counts what it gives.
struct Counting : OrtAllocator {
  Counting() : OrtAllocator{} {
    version = 18;
    Alloc = [](OrtAllocator* self, size_t size) -> void* {
      ++static_cast<Counting*>(self)->given;
      return std::malloc(size);
    };
    Free = [](OrtAllocator* self, void* memory) {
      ++static_cast<Counting*>(self)->freed;
      std::free(memory);
    };
    Info = [](const OrtAllocator* self) -> const OrtMemoryInfo* { return static_cast<const Counting*>(self)->info; };
    Reserve = Alloc;
  }
  Ort::MemoryInfo info = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  std::atomic<int> given{0}, freed{0};
};

void Allocators(Ort::Env& env) {
  Counting counting;
  Ort::UnownedAllocator theirs(&counting);
  {
    Ort::Value value = Ort::Value::CreateTensor<float>(theirs, kShape, 2);
    std::memcpy(value.GetTensorMutableData<float>(), left, sizeof(left));
    PrintFloats("of a counting allocator", value);
    std::printf("in %s, by allocator of type %d\n", value.GetTensorMemoryInfo().GetAllocatorName().c_str(),
                value.GetTensorMemoryInfo().GetAllocatorType());
  }
  std::printf("%d given, %d freed\n", counting.given.load(), counting.freed.load());
  env.RegisterAllocator(&counting);
  {
    Ort::SessionOptions options;
    options.AddConfigEntry("session.use_env_allocators", "1");
    Ort::Session session(env, (models + "/add.onnx").c_str(), options);
    Ort::Value inputs[] = {View(left), View(right)};
    PrintFloats("by a registered one", session.Run({}, kInputs, inputs, 2, kOutputs, 1)[0]);
  }
  env.UnregisterAllocator(counting.info);
  std::printf("registered: %d, %d left\n", counting.given > 1, counting.given - counting.freed);
  Code("unregister again", [&] { env.UnregisterAllocator(counting.info); });
  const Ort::ArenaCfg config(0, -1, -1, -1);
  Code("shared arena", [&] { env.CreateAndRegisterAllocator(Cpu(), config); });
  Ort::AllocatorWithDefaultOptions plain;
  Ort::MemoryAllocation memory = plain.GetAllocation(100);
  std::printf("%zu bytes of %s\n", memory.size(), plain.GetInfo().GetAllocatorName().c_str());
  Ort::Session session(env, (models + "/add.onnx").c_str(), Ort::SessionOptions());
  Ort::Allocator own(session, Cpu());
  Ort::MemoryAllocation block = own.GetAllocation(64);
  std::printf("%d %d\n", block.get() != nullptr, own.GetInfo() == plain.GetInfo());
  Code("stats", [&] { std::printf("%d\n", own.GetStats().GetValue("InUse") != nullptr); });
  Code("memory by no name", [] { Ort::MemoryInfo("Nothing", OrtDeviceAllocator, 0, OrtMemTypeDefault); });
}

void Strings() {
  Ort::AllocatorWithDefaultOptions allocator;
  Ort::Value strings = Ort::Value::CreateTensor(allocator, kShape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  const char* const texts[] = {"one", "zwei", "", "vier", "five", "six"};
  strings.FillStringTensor(texts, 6);
  strings.FillStringTensorElement("sieben", 5);
  std::memcpy(strings.GetResizedStringTensorElementBuffer(0, 3), "ten", 3);
  std::printf("strings: %zu", strings.GetStringTensorDataLength());
  for (size_t i = 0; i < 6; ++i)
    std::printf(" %s(%zu)", strings.GetStringTensorElement(i).c_str(), strings.GetStringTensorElementLength(i));
  std::printf("\n");
  Code("strings over memory",
       [&] { Ort::Value::CreateTensor(Cpu(), left, sizeof(left), kShape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING); });
}

void Tensors() {
  Code("too little memory", [&] { Ort::Value::CreateTensor<float>(Cpu(), left, 2, kShape, 2); });
  Ort::Value value = View(left);
  const std::vector<int64_t> at = {1, 2};
  std::printf("at: %g, %zu bytes, %d\n", value.At<float>(at), value.GetTensorSizeInBytes(), value.IsTensor());
  PrintType("tensor", value.GetTypeInfo());
}

void Sequences() {
  Ort::AllocatorWithDefaultOptions allocator;
  std::vector<Ort::Value> several;
  several.push_back(View(left));
  several.push_back(View(right));
  Ort::Value sequence = Ort::Value::CreateSequence(several);
  std::printf("sequence of %zu, %d\n", sequence.GetCount(), sequence.IsTensor());
  PrintType("sequence", sequence.GetTypeInfo());
  PrintFloats("its second", sequence.GetValue(1, allocator));
  Code("its third", [&] { sequence.GetValue(2, allocator); });
}

void Maps() {
  Ort::AllocatorWithDefaultOptions allocator;
  int64_t keys[] = {3, 5};
  float numbers[] = {0.5F, 0.25F};
  const int64_t two[] = {2};
  const Ort::Value key_tensor = Ort::Value::CreateTensor<int64_t>(Cpu(), keys, 2, two, 1);
  const Ort::Value number_tensor = Ort::Value::CreateTensor<float>(Cpu(), numbers, 2, two, 1);
  Ort::Value map = Ort::Value::CreateMap(key_tensor, number_tensor);
  std::printf("map of %zu, %lld\n", map.GetCount(),
              static_cast<long long>(map.GetValue(0, allocator).GetTensorData<int64_t>()[1]));
  PrintType("map", map.GetTypeInfo());
  PrintFloats("its values", map.GetValue(1, allocator));
}

void SparseTensors() {
  Ort::AllocatorWithDefaultOptions allocator;
  const int64_t dense[] = {3, 3};
  Ort::Value::Shape shape{dense, 2};
  float some[] = {7, 8};
  int64_t linear[] = {2, 4};
  const int64_t count[] = {2};
  Ort::Value sparse = Ort::Value::CreateSparseTensor<float>(Cpu(), some, shape, Ort::Value::Shape{count, 1});
  sparse.UseCooIndices(linear, 2);
  std::printf("sparse: %d, format %d", sparse.IsSparseTensor(), sparse.GetSparseFormat());
  size_t number = 0;
  const auto* indices = sparse.GetSparseTensorIndicesData<int64_t>(ORT_SPARSE_COO_INDICES, number);
  for (size_t i = 0; i < number; ++i) std::printf(" %lld", static_cast<long long>(indices[i]));
  std::printf(" value %g\n", sparse.GetSparseTensorValues<float>()[1]);
  Ort::Value csr = Ort::Value::CreateSparseTensor<float>(allocator, shape);
  const int64_t inner[] = {2, 1}, outer[] = {0, 1, 2, 2};
  csr.FillSparseTensorCsr(Cpu(), {count, 1, {some}}, inner, 2, outer, 4);
  std::printf("csr: format %d, %zu values\n", csr.GetSparseFormat(),
              csr.GetSparseTensorValuesTypeAndShapeInfo().GetElementCount());
  PrintType("sparse", csr.GetTypeInfo());
}

void HalvesAndPairs() {
  const Ort::Float16_t half(1.5F);
  const Ort::BFloat16_t brain(2.5F);
  std::printf("halves: %g %g\n", half.ToFloat(), brain.ToFloat());
  Ort::KeyValuePairs pairs;
  pairs.Add("b", "2");
  pairs.Add("a", "1");
  pairs.Remove("b");
  std::printf("pairs: %s %d\n", pairs.GetValue("a"), pairs.GetValue("b") == nullptr);
}

void Values() {
  Strings();
  Tensors();
  Sequences();
  Maps();
  SparseTensors();
  HalvesAndPairs();
}

void Providers(Ort::Env& env) {
  for (const Ort::ConstEpDevice& device : env.GetEpDevices()) {
    if (std::string(device.EpName()) == "CPUExecutionProvider") std::printf("device of type %d\n", device.Device().Type());
  }
  Ort::SessionOptions options;
  Code("XNNPACK", [&] { options.AppendExecutionProvider("XNNPACK", {}); });
  Code("nobody's", [&] { options.AppendExecutionProvider("Nobody", {}); });
  Code("CUDA", [&] { options.AppendExecutionProvider_CUDA(OrtCUDAProviderOptions()); });
  Code("TensorRT", [&] { options.AppendExecutionProvider_TensorRT(OrtTensorRTProviderOptions()); });
  Code("OpenVINO", [&] { options.AppendExecutionProvider_OpenVINO_V2({{"device_type", "CPU"}}); });
  Code("MIGraphX", [&] { options.AppendExecutionProvider_MIGraphX(OrtMIGraphXProviderOptions()); });
  Code("ROCm", [&] { options.AppendExecutionProvider_ROCM(OrtROCMProviderOptions()); });
  options.SetEpSelectionPolicy(OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY);
  Ort::Session session(env, (models + "/add.onnx").c_str(), options);
  Ort::Value inputs[] = {View(left), View(right)};
  PrintFloats("by policy", session.Run({}, kInputs, inputs, 2, kOutputs, 1)[0]);
  std::vector<Ort::ConstEpDevice> cpu;
  for (const Ort::ConstEpDevice& device : env.GetEpDevices()) {
    if (std::string(device.EpName()) == "CPUExecutionProvider") cpu.push_back(device);
  }
  Ort::SessionOptions by_device;
  by_device.AppendExecutionProvider_V2(env, cpu, Ort::KeyValuePairs());
  Ort::Session on_device(env, (models + "/add.onnx").c_str(), by_device);
  PrintFloats("by device", on_device.Run({}, kInputs, inputs, 2, kOutputs, 1)[0]);
  Code("a library that is not there", [&] { env.RegisterExecutionProviderLibrary("none", "/none/such.so"); });
  Code("unregister it", [&] { env.UnregisterExecutionProviderLibrary("none"); });
  Code("adapter of no file", [&] { Ort::LoraAdapter::CreateLoraAdapter("/none/such", nullptr); });
  Code("adapter of garbage", [&] { Ort::LoraAdapter::CreateLoraAdapterFromArray("garbage!", 8, nullptr); });
}

void Profiles(const Ort::Env& env) {
  Ort::SessionOptions options;
  options.EnableProfiling((models + "/profile").c_str());
  Ort::Session session(env, (models + "/add.onnx").c_str(), options);
  Ort::Value inputs[] = {View(left), View(right)};
  session.Run({}, kInputs, inputs, 2, kOutputs, 1);
  Ort::AllocatorWithDefaultOptions allocator;
  const auto file = session.EndProfilingAllocated(allocator);
  std::printf("profiled: %d, since %d\n", std::filesystem::file_size(file.get()) > 100,
              session.GetProfilingStartTimeNs() > 0);
  std::filesystem::remove(file.get());
  Ort::SessionOptions written;
  const std::string path = models + "/optimized.onnx";
  written.SetOptimizedModelFilePath(path.c_str());
  Ort::Session(env, (models + "/add.onnx").c_str(), written);
  PrintFloats("optimized",
              Ort::Session(env, path.c_str(), Ort::SessionOptions()).Run({}, kInputs, inputs, 2, kOutputs, 1)[0]);
  std::filesystem::remove(path);
}

void Log(void* param, OrtLoggingLevel /*level*/, const char* /*category*/, const char* /*id*/, const char* /*place*/,
         const char* /*message*/) {
  ++*static_cast<std::atomic<int>*>(param);
}

}  // namespace

int main(int /*argc*/, char** argv) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  models = argv[1];
  std::printf("%s\n", Ort::GetVersionString().c_str());
  std::atomic<int> lines{0};
  {
    Ort::ThreadingOptions threads;
    threads.SetGlobalIntraOpNumThreads(2).SetGlobalInterOpNumThreads(1).SetGlobalSpinControl(0).SetGlobalDenormalAsZero();
    Ort::Env env(threads, Log, &lines, ORT_LOGGING_LEVEL_ERROR, "client");
    env.UpdateEnvWithCustomLogLevel(ORT_LOGGING_LEVEL_FATAL);
    Ort::SessionOptions options;
    options.DisablePerSessionThreads();
    Ort::Session session(env, (models + "/add.onnx").c_str(), options);
    Ort::Value inputs[] = {View(left), View(right)};
    PrintFloats("global threads", session.Run({}, kInputs, inputs, 2, kOutputs, 1)[0]);
  }
  Ort::Env env(ORT_LOGGING_LEVEL_FATAL, "client");
  env.DisableTelemetryEvents();
  Code("no global threads", [&] {
    Ort::SessionOptions options;
    options.DisablePerSessionThreads();
    Ort::Session(env, (models + "/add.onnx").c_str(), options);
  });
  Sessions(env);
  Bindings(env);
  Allocators(env);
  Values();
  Providers(env);
  Profiles(env);
}
