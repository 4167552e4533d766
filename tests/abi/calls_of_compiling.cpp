// Models compiled ahead of time, where nothing compiles: what is written, to where, and what is refused.

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "answers.h"

namespace {

namespace fs = std::filesystem;

using Options = OrtModelCompilationOptions;

const OrtCompileApi* compiling;
fs::path folder;

std::string PathOf(const char* name) { return (folder / name).string(); }

Options* NewOptions() {
  OrtSessionOptions* session = nullptr;
  Options* options = nullptr;
  Must(api->CreateSessionOptions(&session));
  Must(compiling->CreateModelCompilationOptionsFromSessionOptions(env, session, &options));
  api->ReleaseSessionOptions(session);
  return options;
}

/// One compilation of Y = X + W, from memory.
template <class Set>
void Try(const char* call, const Set& set) {
  Options* options = NewOptions();
  const std::string model = tiny::AddWeight(false);
  Must(compiling->ModelCompilationOptions_SetInputModelFromBuffer(options, model.data(), model.size()));
  set(options);
  Print(call, compiling->CompileModel(env, options));
  compiling->ReleaseModelCompilationOptions(options);
}

/// Whether the model still adds 1, 2, 3.
void RunOf(const char* call, const void* model, size_t bytes, OrtSessionOptions* options = nullptr) {
  OrtSession* session = nullptr;
  if (OrtStatus* status = api->CreateSessionFromArray(env, model, bytes, options, &session)) return Print(call, status);
  Print(call, RunSum(call, session));
  api->ReleaseSession(session);
}

void RunOfFile(const char* call, const std::string& path) {
  OrtSession* session = nullptr;
  Print(call, api->CreateSession(env, path.c_str(), nullptr, &session));
  api->ReleaseSession(session);
}

void Inputs() {
  Options* options = NewOptions();
  Print("compile nothing", compiling->CompileModel(env, options));
  Print("compile a path that is null", compiling->ModelCompilationOptions_SetInputModelPath(options, ""));
  Print("compile no bytes", compiling->ModelCompilationOptions_SetInputModelFromBuffer(options, "", 0));
  Print("compile null bytes", compiling->ModelCompilationOptions_SetInputModelFromBuffer(options, nullptr, 4));
  Print("compile a null model", compiling->ModelCompilationOptions_SetInputModel(options, nullptr));
  Must(compiling->ModelCompilationOptions_SetInputModelPath(options, PathOf("nothing.onnx").c_str()));
  Print("compile a file that is not there", compiling->CompileModel(env, options));
  const std::string model = tiny::AddWeight(false);
  Must(compiling->ModelCompilationOptions_SetInputModelFromBuffer(options, model.data(), model.size()));
  Print("compile bytes to nowhere", compiling->CompileModel(env, options));
  Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("bytes.onnx").c_str()));
  Print("compile bytes to a file", compiling->CompileModel(env, options));
  RunOfFile("the file", PathOf("bytes.onnx"));
  Must(compiling->ModelCompilationOptions_SetInputModelPath(options, PathOf("bytes.onnx").c_str()));
  Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("again.onnx").c_str()));
  Print("compile the file", compiling->CompileModel(env, options));
  Print("compile it again", compiling->CompileModel(env, options));
  const std::string rubbish = "rubbish";
  Must(compiling->ModelCompilationOptions_SetInputModelFromBuffer(options, rubbish.data(), rubbish.size()));
  Print("compile rubbish", compiling->CompileModel(env, options));
  compiling->ReleaseModelCompilationOptions(options);

  options = NewOptions();
  Must(compiling->ModelCompilationOptions_SetInputModelPath(options, PathOf("bytes.onnx").c_str()));
  Print("compile a file to its own place", compiling->CompileModel(env, options));
  std::printf("its place is there: %d\n", fs::exists(folder / "bytes_ctx.onnx") ? 1 : 0);
  compiling->ReleaseModelCompilationOptions(options);
}

void Flags() {
  Try("compile where nothing compiles, and that is an error", [](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("none.onnx").c_str()));
    Must(compiling->ModelCompilationOptions_SetFlags(options, OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED));
  });
  std::printf("it is written: %d\n", fs::exists(folder / "none.onnx") ? 1 : 0);
  Try("compile over a file, and that is an error", [](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("bytes.onnx").c_str()));
    Must(compiling->ModelCompilationOptions_SetFlags(options, OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS));
  });
  Try("compile with unknown flags", [](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("flags.onnx").c_str()));
    Print("unknown flags", compiling->ModelCompilationOptions_SetFlags(options, 0x100));
  });
  Try("compile with a level", [](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("level.onnx").c_str()));
    Print("level 99", compiling->ModelCompilationOptions_SetGraphOptimizationLevel(options, ORT_ENABLE_ALL));
    Print("level 7",
          compiling->ModelCompilationOptions_SetGraphOptimizationLevel(options, static_cast<GraphOptimizationLevel>(7)));
    Print("embedded", compiling->ModelCompilationOptions_SetEpContextEmbedMode(options, true));
    Print("weightless", compiling->ModelCompilationOptions_SetWeightlessEnabled(options, true));
  });
  Try("compile to a folder that is not there", [](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("none/there.onnx").c_str()));
  });
}

void Names() {
  Options* options = NewOptions();
  const auto name = [&](const char* call, const char* in, const char* model) {
    Print(call, compiling->ModelCompilationOptions_SetEpContextBinaryInformation(options, in, model));
  };
  name("binaries in a folder", (folder.string() + "/").c_str(), "m.onnx");
  name("binaries in a folder without the last slash", folder.c_str(), "m.onnx");
  name("binaries in a folder with a dot", (folder.string() + ".d").c_str(), "m.onnx");
  name("binaries in no folder", "", "m.onnx");
  name("binaries of no name", (folder.string() + "/").c_str(), "");
  Print("an output path that is empty", compiling->ModelCompilationOptions_SetOutputModelPath(options, ""));
  compiling->ReleaseModelCompilationOptions(options);
}

OrtAllocator* Default() {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

void Buffers() {
  void* data = nullptr;
  size_t bytes = 0;
  Try("compile to a buffer", [&](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelBuffer(options, Default(), &data, &bytes));
  });
  RunOf("the buffer", data, bytes);
  Must(api->AllocatorFree(Default(), data));
  Options* options = NewOptions();
  Print("a buffer of null", compiling->ModelCompilationOptions_SetOutputModelBuffer(options, Default(), nullptr, &bytes));
  Print("a buffer without a size",
        compiling->ModelCompilationOptions_SetOutputModelBuffer(options, Default(), &data, nullptr));
  Print("a buffer without an allocator",
        compiling->ModelCompilationOptions_SetOutputModelBuffer(options, nullptr, &data, &bytes));
  Print("no function", compiling->ModelCompilationOptions_SetOutputModelWriteFunc(options, nullptr, nullptr));
  Print("no function for data", compiling->ModelCompilationOptions_SetEpContextDataWriteFunc(options, nullptr, nullptr));
  compiling->ReleaseModelCompilationOptions(options);

  std::string written;
  const OrtWriteBufferFunc append = [](void* state, const void* buffer, size_t size) -> OrtStatus* {
    static_cast<std::string*>(state)->append(static_cast<const char*>(buffer), size);
    return nullptr;
  };
  const OrtWriteBufferFunc fail = [](void*, const void*, size_t) {
    return api->CreateStatus(ORT_EP_FAIL, "the disk is full");
  };
  Try("compile to a function",
      [&](Options* o) { Must(compiling->ModelCompilationOptions_SetOutputModelWriteFunc(o, append, &written)); });
  RunOf("what it took", written.data(), written.size());
  Try("compile to a function that fails",
      [&](Options* o) { Must(compiling->ModelCompilationOptions_SetOutputModelWriteFunc(o, fail, nullptr)); });
}

void Weights() {
  Try("compile with weights beside", [](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("beside.onnx").c_str()));
    Must(compiling->ModelCompilationOptions_SetOutputModelExternalInitializersFile(options, "beside.bin", 0));
  });
  std::printf("weights are beside: %d\n", fs::exists(folder / "beside.bin") ? 1 : 0);
  RunOfFile("the model with weights beside", PathOf("beside.onnx"));
  Try("compile with large weights beside", [](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("large.onnx").c_str()));
    Must(compiling->ModelCompilationOptions_SetOutputModelExternalInitializersFile(options, "large.bin", 4096));
  });
  RunOfFile("the model without large weights", PathOf("large.onnx"));

  void *weights = nullptr, *model = nullptr;
  size_t weight_bytes = 0, model_bytes = 0;
  Try("compile with weights in a buffer", [&](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelBuffer(options, Default(), &model, &model_bytes));
    Print("weights to a buffer", compiling->ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(
                                     options, "w.bin", 0, Default(), &weights, &weight_bytes));
    Print("aligned to 64", compiling->ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(options, 64, 0));
    Print("aligned to 3", compiling->ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(options, 3, 0));
  });
  std::printf("weights in a buffer: %zu\n", weight_bytes);
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  const char* name = "w.bin";
  char* buffer = static_cast<char*>(weights);
  Must(api->AddExternalInitializersFromFilesInMemory(options, &name, &buffer, &weight_bytes, 1));
  RunOf("the model with weights in a buffer", model, model_bytes, options);
  api->ReleaseSessionOptions(options);
  Must(api->AllocatorFree(Default(), weights));
  Must(api->AllocatorFree(Default(), model));

  Options* others = NewOptions();
  const auto to = [&](const char* call, const char* file) {
    Print(call, compiling->ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(others, file, 0, Default(),
                                                                                            &weights, &weight_bytes));
  };
  to("weights to a buffer without a name", "");
  to("weights to a buffer of a whole path", "/w.bin");
  Print("weights to a file without a name",
        compiling->ModelCompilationOptions_SetOutputModelExternalInitializersFile(others, "", 0));
  Print("weights placed by no function",
        compiling->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(others, nullptr, nullptr));
  compiling->ReleaseModelCompilationOptions(others);
}

/// Takes weights into a string that stands for a file.
OrtStatus* Place(void* state, const char* name, const OrtValue* value, const OrtExternalInitializerInfo* now,
                 OrtExternalInitializerInfo** place) {
  auto& file = *static_cast<std::string*>(state);
  size_t bytes = 0;
  void* data = nullptr;
  Must(api->GetTensorSizeInBytes(value, &bytes));
  Must(api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  std::printf("weight %s: %zu%s\n", name, bytes, now == nullptr ? "" : " outside");
  const auto offset = static_cast<int64_t>(file.size());
  file.append(static_cast<const char*>(data), bytes);
  return api->CreateExternalInitializerInfo("placed.bin", offset, bytes, place);
}

void PlacedWeights() {
  std::string file;
  Try("compile with weights placed", [&](Options* options) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("placed.onnx").c_str()));
    Must(compiling->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(options, Place, &file));
  });
  std::ofstream(folder / "placed.bin", std::ios::binary) << file;
  RunOfFile("the model with weights placed", PathOf("placed.onnx"));
  Options* options = NewOptions();
  Must(compiling->ModelCompilationOptions_SetInputModelPath(options, PathOf("placed.onnx").c_str()));
  Must(compiling->ModelCompilationOptions_SetOutputModelPath(options, PathOf("placed again.onnx").c_str()));
  Must(compiling->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(options, Place, &file));
  Print("compile them once more", compiling->CompileModel(env, options));
  compiling->ReleaseModelCompilationOptions(options);
  const OrtGetInitializerLocationFunc inside = [](void*, const char*, const OrtValue*, const OrtExternalInitializerInfo*,
                                                  OrtExternalInitializerInfo** place) -> OrtStatus* {
    *place = nullptr;
    return nullptr;
  };
  const OrtGetInitializerLocationFunc fail = [](void*, const char*, const OrtValue*, const OrtExternalInitializerInfo*,
                                                OrtExternalInitializerInfo**) {
    return api->CreateStatus(ORT_EP_FAIL, "no place");
  };
  Try("compile with weights placed inside", [&](Options* o) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(o, PathOf("inside.onnx").c_str()));
    Must(compiling->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(o, inside, nullptr));
  });
  RunOfFile("the model with weights placed inside", PathOf("inside.onnx"));
  Try("compile with weights that find no place", [&](Options* o) {
    Must(compiling->ModelCompilationOptions_SetOutputModelPath(o, PathOf("nowhere.onnx").c_str()));
    Must(compiling->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(o, fail, nullptr));
  });
}

}  // namespace

void CompileCalls() {
  compiling = api->GetCompileApi();
  folder = fs::temp_directory_path() / ("compiles" + std::to_string(std::hash<const void*>()(&compiling)));
  fs::create_directories(folder);
  Options* options = nullptr;
  OrtSessionOptions* session = nullptr;
  Must(api->CreateSessionOptions(&session));
  Print("compilation without an environment",
        compiling->CreateModelCompilationOptionsFromSessionOptions(nullptr, session, &options));
  Print("compilation without options", compiling->CreateModelCompilationOptionsFromSessionOptions(env, nullptr, &options));
  api->ReleaseSessionOptions(session);
  compiling->ReleaseModelCompilationOptions(nullptr);
  Inputs();
  Flags();
  Names();
  Buffers();
  Weights();
  PlacedWeights();
  fs::remove_all(folder);
}
