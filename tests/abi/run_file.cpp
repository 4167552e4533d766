// Runs a model's file once through the C ABI. Each input is a file of elements, as each output becomes one.
//
// usage: run_file LIBRARY MODEL FOLDER [ADAPTER]
//
// FOLDER/inputs.txt has a line for each input: name, element type by its number, dimensions. Its elements are in NAME.in.
// Outputs go to NAME.out, and their dimensions to standard output. ADAPTER: a file of a LoRA adapter for the run.

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "library.h"

namespace {

const OrtApi* api;

void Must(OrtStatusPtr status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%d: %s\n", static_cast<int>(api->GetErrorCode(status)), api->GetErrorMessage(status));
  std::exit(3);  // refused; anything else that is not 0 is a crash
}

std::vector<char> Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Input {
  std::string name;
  std::vector<char> bytes;
  OrtValue* value = nullptr;
};

std::vector<Input> Inputs(const std::string& folder) {
  OrtMemoryInfo* info = nullptr;
  Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  std::vector<Input> inputs;
  std::ifstream list(folder + "/inputs.txt");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    Input input;
    int type = 0;
    words >> input.name >> type;
    std::vector<int64_t> shape{std::istream_iterator<int64_t>(words), {}};
    input.bytes = Contents(folder + "/" + input.name + ".in");
    Must(api->CreateTensorWithDataAsOrtValue(info, input.bytes.data(), input.bytes.size(), shape.data(), shape.size(),
                                             static_cast<ONNXTensorElementDataType>(type), &input.value));
    inputs.push_back(std::move(input));
  }
  api->ReleaseMemoryInfo(info);
  return inputs;
}

std::vector<std::string> OutputNames(const OrtSession* session) {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  size_t count = 0;
  Must(api->SessionGetOutputCount(session, &count));
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    Must(api->SessionGetOutputName(session, i, allocator, &name));
    names.emplace_back(name);
    Must(api->AllocatorFree(allocator, name));
  }
  return names;
}

void Write(const std::string& folder, const std::string& name, OrtValue* value) {
  OrtTensorTypeAndShapeInfo* type = nullptr;
  Must(api->GetTensorTypeAndShape(value, &type));
  size_t rank = 0, bytes = 0;
  Must(api->GetDimensionsCount(type, &rank));
  std::vector<int64_t> dims(rank);
  Must(api->GetDimensions(type, dims.data(), rank));
  Must(api->GetTensorSizeInBytes(value, &bytes));
  const void* data = nullptr;
  Must(api->GetTensorData(value, &data));
  std::ofstream(folder + "/" + name + ".out", std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  std::cout << name;
  for (const int64_t dim : dims) std::cout << ' ' << dim;
  std::cout << '\n';
  api->ReleaseTensorTypeAndShapeInfo(type);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: %s LIBRARY MODEL FOLDER [ADAPTER]\n", argv[0]);
    return 2;
  }
  api = &OpenLibrary(argv[1]);
  const std::string folder = argv[3];
  OrtEnv* env = nullptr;
  Must(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "run_file", &env));
  OrtSession* session = nullptr;
  Must(api->CreateSession(env, argv[2], nullptr, &session));
  OrtRunOptions* options = nullptr;
  Must(api->CreateRunOptions(&options));
  OrtLoraAdapter* adapter = nullptr;
  if (argc == 5) {
    Must(api->CreateLoraAdapter(argv[4], nullptr, &adapter));
    Must(api->RunOptionsAddActiveLoraAdapter(options, adapter));
  }
  const std::vector<Input> inputs = Inputs(folder);
  const std::vector<std::string> names = OutputNames(session);
  std::vector<const char*> given, wanted;
  std::vector<const OrtValue*> values;
  for (const Input& input : inputs) {
    given.push_back(input.name.c_str());
    values.push_back(input.value);
  }
  for (const std::string& name : names) wanted.push_back(name.c_str());
  std::vector<OrtValue*> results(names.size());
  Must(api->Run(session, options, given.data(), values.data(), given.size(), wanted.data(), wanted.size(), results.data()));
  for (size_t i = 0; i < names.size(); ++i) {
    Write(folder, names[i], results[i]);
    api->ReleaseValue(results[i]);
  }
  for (const Input& input : inputs) api->ReleaseValue(input.value);
  api->ReleaseRunOptions(options);
  api->ReleaseLoraAdapter(adapter);
  api->ReleaseSession(session);
  api->ReleaseEnv(env);
}
