// Calls every entry of the tables with handles that clients get wrong, each call in a process of its own, and prints which
// the process survives: a line "Entry argument kind: end". Kinds: good, where nothing is wrong; freed, a handle that was
// released; foreign, one of another type; zeros, memory that nothing was made in.
//
// usage: handle_calls LIBRARY

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "end_of.h"
#include "library.h"
#include "tiny_model.h"

namespace {

const OrtApi* api;
const OrtModelEditorApi* editor;
const OrtModelPackageApi* packages;
std::filesystem::path package_folder;  // of one component, "A", in one variant, "A"
alignas(64) unsigned char rooms[12][4096];
unsigned char zeros[8192];
float numbers[6] = {1, 2, 3, 4, 5, 6};

void Must(OrtStatusPtr status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", api->GetErrorMessage(status));
  std::exit(2);
}

/// Makes one of a kind of handle, and releases it. Kinds without are left out.
template <class Handle>
struct Kind {
  static constexpr bool kKnown = false;
};

template <class Handle>
Handle* live = nullptr;

#define KIND_OF(table, handle, release, ...)                    \
  template <>                                                   \
  struct Kind<handle> {                                         \
    static constexpr bool kKnown = true;                        \
    static handle* Make() {                                     \
      handle* out = nullptr;                                    \
      __VA_ARGS__;                                              \
      return out;                                               \
    }                                                           \
    static void Release(handle* made) { table->release(made); } \
  }
#define KIND(handle, release, ...) KIND_OF(api, handle, release, __VA_ARGS__)

KIND(OrtEnv, ReleaseEnv, Must(api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "handles", &out)));
KIND(OrtStatus, ReleaseStatus, out = api->CreateStatus(ORT_FAIL, "a status"));
KIND(OrtMemoryInfo, ReleaseMemoryInfo, Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &out)));
KIND(OrtSessionOptions, ReleaseSessionOptions, Must(api->CreateSessionOptions(&out)));
KIND(OrtRunOptions, ReleaseRunOptions, Must(api->CreateRunOptions(&out)));
KIND(OrtThreadingOptions, ReleaseThreadingOptions, Must(api->CreateThreadingOptions(&out)));
KIND(OrtKeyValuePairs, ReleaseKeyValuePairs, api->CreateKeyValuePairs(&out));
KIND(OrtPrepackedWeightsContainer, ReleasePrepackedWeightsContainer, Must(api->CreatePrepackedWeightsContainer(&out)));
KIND(OrtArenaCfg, ReleaseArenaCfg, Must(api->CreateArenaCfg(0, -1, -1, -1, &out)));
KIND(OrtExternalInitializerInfo, ReleaseExternalInitializerInfo, Must(api->CreateExternalInitializerInfo("f", 0, 4, &out)));
KIND(OrtOpAttr, ReleaseOpAttr, const int64_t one = 1; Must(api->CreateOpAttr("a", &one, 1, ORT_OP_ATTR_INT, &out)));
KIND(OrtTensorTypeAndShapeInfo, ReleaseTensorTypeAndShapeInfo, Must(api->GetTensorTypeAndShape(live<OrtValue>, &out)));
KIND(OrtTypeInfo, ReleaseTypeInfo, Must(api->GetTypeInfo(live<OrtValue>, &out)));
KIND(OrtModelMetadata, ReleaseModelMetadata, Must(api->SessionGetModelMetadata(live<OrtSession>, &out)));
KIND(OrtIoBinding, ReleaseIoBinding, Must(api->CreateIoBinding(live<OrtSession>, &out)));
KIND(OrtValueInfo, ReleaseValueInfo, Must(editor->CreateValueInfo("v", live<OrtTypeInfo>, &out)));
KIND(OrtNode, ReleaseNode, Must(editor->CreateNode("Neg", "", "n", nullptr, 0, nullptr, 0, nullptr, 0, &out)));
KIND(OrtGraph, ReleaseGraph, Must(editor->CreateGraph(&out)));
KIND(OrtModel, ReleaseModel, Must(editor->CreateModel(nullptr, nullptr, 0, &out)));
KIND(OrtAllocator, ReleaseAllocator, Must(api->CreateAllocator(live<OrtSession>, live<OrtMemoryInfo>, &out)));
KIND_OF(packages, OrtModelPackageOptions, ReleaseModelPackageOptions,
        Must(packages->CreateModelPackageOptionsFromSessionOptions(live<OrtEnv>, live<OrtSessionOptions>, &out)));
KIND_OF(packages, OrtModelPackageContext, ReleaseModelPackageContext,
        Must(packages->CreateModelPackageContext(package_folder.c_str(), &out)));
KIND_OF(packages, OrtModelPackageComponentContext, ReleaseModelPackageComponentContext,
        Must(packages->SelectComponent(live<OrtModelPackageContext>, "A", live<OrtModelPackageOptions>, &out)));

template <>
struct Kind<OrtValue> {
  static constexpr bool kKnown = true;
  static OrtValue* Make() {
    OrtValue* out = nullptr;
    const int64_t shape[] = {2, 3};
    Must(api->CreateTensorWithDataAsOrtValue(live<OrtMemoryInfo>, numbers, sizeof(numbers), shape, 2,
                                             ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &out));
    return out;
  }
  static void Release(OrtValue* made) { api->ReleaseValue(made); }
};

template <>
struct Kind<OrtSession> {
  static constexpr bool kKnown = true;
  static OrtSession* Make() {
    static const std::string model = tiny::Add();
    OrtSessionOptions* options = Kind<OrtSessionOptions>::Make();
    Must(api->SetIntraOpNumThreads(options, 1));  // a child has no threads of its parent's
    OrtSession* out = nullptr;
    Must(api->CreateSessionFromArray(live<OrtEnv>, model.data(), model.size(), options, &out));
    api->ReleaseSessionOptions(options);
    return out;
  }
  static void Release(OrtSession* made) { api->ReleaseSession(made); }
};

template <class... Handles>
void MakeAll() {
  ((live<Handles> = Kind<Handles>::Make()), ...);
}

/// The type that a handle's parameter points to; void for parameters of other kinds.
template <class Parameter>
struct Pointee {
  using Type = void;
};
template <class Object>
struct Pointee<Object*> {
  using Type = std::remove_const_t<Object>;
};
template <class Parameter>
constexpr bool kIsHandle = Kind<typename Pointee<Parameter>::Type>::kKnown;

template <class Object>
constexpr bool kIsComplete = requires { sizeof(Object); };

/// What a client would give where it does nothing wrong.
template <class Parameter>
Parameter Good(size_t place) {
  using Object = typename Pointee<Parameter>::Type;
  if constexpr (!std::is_pointer_v<Parameter>) {
    return static_cast<Parameter>(1);
  } else if constexpr (std::is_function_v<std::remove_pointer_t<Parameter>>) {
    return nullptr;
  } else if constexpr (kIsHandle<Parameter>) {
    return live<Object>;
  } else if constexpr (std::is_class_v<Object> && !kIsComplete<Object>) {
    return nullptr;  // a kind of handle that is not made here
  } else if constexpr (std::is_same_v<Parameter, const char*>) {
    return "A";
  } else if constexpr (std::is_same_v<Parameter, const char* const*>) {
    static const char* const names[] = {"A", "B", "C", "D"};
    return names;
  } else if constexpr (std::is_pointer_v<Object> && std::is_const_v<std::remove_pointer_t<Parameter>> &&
                       kIsHandle<std::remove_const_t<Object>>) {
    using Element = std::remove_const_t<typename Pointee<Object>::Type>;
    static Element* several[8];
    for (Element*& one : several) one = live<Element>;
    return const_cast<Parameter>(reinterpret_cast<Element* const*>(several));
  } else {
    return reinterpret_cast<Parameter>(reinterpret_cast<uintptr_t>(rooms[place]));
  }
}

enum class Wrong { kNothing, kFreed, kForeign, kZeros };

template <class Parameter>
Parameter Bad(Wrong wrong) {
  using Object = typename Pointee<Parameter>::Type;
  if constexpr (kIsHandle<Parameter>) {
    if (wrong == Wrong::kFreed) {
      Object* made = Kind<Object>::Make();
      Kind<Object>::Release(made);
      return made;
    }
    if (wrong == Wrong::kForeign) {
      if constexpr (std::is_same_v<Object, OrtValue>) return reinterpret_cast<Parameter>(live<OrtSessionOptions>);
      return reinterpret_cast<Parameter>(live<OrtValue>);
    }
    return reinterpret_cast<Parameter>(zeros + 4096);
  }
  return Parameter();
}

template <class Parameter>
Parameter Argument(size_t place, size_t bad, Wrong wrong) {
  return place == bad && wrong != Wrong::kNothing ? Bad<Parameter>(wrong) : Good<Parameter>(place);
}

template <class Result, class... Parameters, size_t... places>
void CallWith(const char* name, Result (*entry)(Parameters...), std::index_sequence<places...> /*of each*/) {
  constexpr bool handles[] = {kIsHandle<Parameters>..., false};
  const auto call = [&](const char* kind, size_t bad, Wrong wrong) {
    const char* end = EndOf([&] { (void)entry(Argument<Parameters>(places, bad, wrong)...); });
    std::printf("%s %zu %s: %s\n", name, bad, kind, end);
  };
  call("good", 0, Wrong::kNothing);
  for (size_t place = 0; place < sizeof...(Parameters); ++place) {
    if (!handles[place]) continue;
    call("freed", place, Wrong::kFreed);
    call("foreign", place, Wrong::kForeign);
    call("zeros", place, Wrong::kZeros);
  }
}

template <class Result, class... Parameters>
void Call(const char* name, Result (*entry)(Parameters...) noexcept) {
  CallWith(name, static_cast<Result (*)(Parameters...)>(entry), std::index_sequence_for<Parameters...>());
}
template <class Result, class... Parameters>
void Call(const char* name, Result (*entry)(Parameters...)) {
  CallWith(name, entry, std::index_sequence_for<Parameters...>());
}

void WritePackage() {
  package_folder = std::filesystem::temp_directory_path() / ("handles" + std::to_string(getpid()));
  std::filesystem::create_directories(package_folder / "A");
  std::ofstream(package_folder / "A" / "model.onnx", std::ios::binary) << tiny::Add();
  std::ofstream(package_folder / "manifest.json")
      << R"({"schema_version": "1.0", "components": {"A": {"variants": {"A": {"ep": "CPUExecutionProvider",)"
      << R"("executor_info": {"ort": {"model_file": "model.onnx"}}}}}}})";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  api = &OpenLibrary(argv[1]);
  editor = api->GetModelEditorApi();
  packages = api->GetModelPackageApi();
  WritePackage();
  MakeAll<OrtEnv, OrtStatus, OrtMemoryInfo, OrtSessionOptions, OrtRunOptions, OrtThreadingOptions, OrtKeyValuePairs,
          OrtPrepackedWeightsContainer, OrtArenaCfg, OrtExternalInitializerInfo, OrtOpAttr, OrtValue, OrtSession,
          OrtTensorTypeAndShapeInfo, OrtTypeInfo, OrtModelMetadata, OrtIoBinding, OrtAllocator, OrtValueInfo, OrtNode,
          OrtGraph, OrtModel, OrtModelPackageOptions, OrtModelPackageContext, OrtModelPackageComponentContext>();
#define ENTRY(name) Call(#name, api->name);
#define LATER(name, advice) ENTRY(name)
#define ABSENT(name, provider) ENTRY(name)
#include "bindings/c/ort_api.inc"
#undef ENTRY
#define ENTRY(name) Call(#name, editor->name);
#include "bindings/c/model_editor_api.inc"
#undef ENTRY
#define ENTRY(name) Call("OrtModelPackageApi::" #name, packages->name);
#include "bindings/c/model_package_api.inc"
  std::filesystem::remove_all(package_folder);
}
