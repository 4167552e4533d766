// Model packages: what they answer, which variants are chosen, and the sessions of them.

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "packages.h"

namespace {

/// Two components, one of them in a file, with variants, assets and weights outside.
fs::path WholePackage() {
  const fs::path root = Package(
      {{"manifest.json", R"({"schema_version": "1.7", "package_name": "whole", "components": {)"
                         R"("second": "second", "first": {"variants": {)"
                         R"("z": {"ep": "CPUExecutionProvider", "variant_directory": "cpu", "device": "",)"
                         R"( "compatibility_string": "any", "executor_info": {"ort": {"model_file": "model.onnx"}}},)"
                         R"("a": {"variant_directory": "cpu"},)"
                         R"("empty": {"ep": ""}}}, "none": {"variants": {}}}})"},
       {"cpu/model.onnx", tiny::AddWeight(false)},
       {"second/component.json", R"({"component_name": "other", "variants": {"gpu": {"ep": "CUDAExecutionProvider"},)"
                                 R"("weights": {"ep": "CPUExecutionProvider", "executor_info": {"ort": "info.json"}}}})"},
       {"second/weights/info.json", R"({"model_file": "model.onnx", "session_options": )"
                                    R"({"session.model_external_initializers_file_folder_path": "sha256:)" +
                                        kAsset + R"("}})"},
       {"second/weights/model.onnx", tiny::AddWeight(true)},
       {("shared_assets/sha256-" + kAsset + "/w.bin").c_str(), std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12)}});
  return root;
}

/// A text that is a path, without the folder of this run.
std::string Shown(const char* path) {
  if (path == nullptr) return "(null)";
  std::string text = path;
  const std::string root = fs::canonical(packages_folder).string();
  const size_t at = text.find(root);
  if (at == std::string::npos) return text;
  const size_t end = text.find('/', at + root.size() + 1);  // behind the package's own name
  return text.substr(0, at) + "ROOT" + (end == std::string::npos ? "" : text.substr(end));
}

void Answers() {
  const fs::path root = WholePackage();
  OrtModelPackageContext* package = Open("whole package", root);
  if (package == nullptr) return;
  int64_t version = -1;
  PrintValue("schema version", packages->ModelPackage_GetSchemaVersion(package, &version), version);
  size_t count = 99;
  PrintValue("components", packages->ModelPackage_GetComponentCount(package, &count), count);
  const char* const* names = nullptr;
  PrintValue("component names", packages->ModelPackage_GetComponentNames(package, &names, &count), count);
  for (size_t i = 0; i < count; ++i) std::printf("component name %zu: %s\n", i, names[i]);
  for (const char* component : {"first", "second", "none", "other", ""}) {
    const std::string of = std::string(" of ") + component;
    count = 99;
    PrintValue(("variants" + of).c_str(), packages->ModelPackage_GetVariantCount(package, component, &count), count);
    std::printf("their number%s: %zu\n", of.c_str(), count);
    count = 99;
    const char* const* variants = nullptr;
    PrintValue(("variant names" + of).c_str(),
               packages->ModelPackage_GetVariantNames(package, component, &variants, &count), count);
    std::printf("and no names%s: %d\n", of.c_str(), variants == nullptr);
    if (variants == nullptr) continue;
    for (size_t i = 0; i < count; ++i) {
      std::printf("variant %zu%s: %s\n", i, of.c_str(), variants[i]);
      const char* provider = nullptr;
      PrintValue((std::string("provider of ") + variants[i]).c_str(),
                 packages->ModelPackage_GetVariantEpName(package, component, variants[i], &provider), provider);
    }
  }
  const char* text = "before";
  Print("provider of no variant", packages->ModelPackage_GetVariantEpName(package, "first", "nothing", &text));
  std::printf("what is there then: %s\n", text == nullptr ? "(null)" : text);
  Print("provider of no component", packages->ModelPackage_GetVariantEpName(package, "nothing", "a", &text));
  Print("provider to nowhere", packages->ModelPackage_GetVariantEpName(package, "first", "a", nullptr));
  Print("version to nowhere", packages->ModelPackage_GetSchemaVersion(package, nullptr));
  Print("components to nowhere", packages->ModelPackage_GetComponentCount(package, nullptr));
  Print("names to nowhere", packages->ModelPackage_GetComponentNames(package, nullptr, &count));
  Print("names without a number", packages->ModelPackage_GetComponentNames(package, &names, nullptr));
  Print("variants of null", packages->ModelPackage_GetVariantCount(package, nullptr, &count));
  packages->ReleaseModelPackageContext(package);
}

void References() {
  const fs::path root = WholePackage();
  fs::create_symlink(packages_folder, root / "out");
  fs::create_symlink("cpu", root / "in");
  OrtModelPackageContext* package = Open("package of references", root);
  if (package == nullptr) return;
  const auto resolve = [&](const char* base, const std::string& input, int must_exist) {
    const std::string call =
        "'" + input + "' in " + (base == nullptr ? "null" : Shown(base)) + (must_exist != 0 ? "!" : "");
    const char* path = "before";
    OrtStatusPtr status = packages->ModelPackage_ResolveStringRef(package, base, input.c_str(), must_exist, &path);
    const bool failed = status != nullptr;
    PrintValue(call.c_str(), status, Shown(path).c_str());
    if (failed) std::printf("nothing of %s: %d\n", call.c_str(), path == nullptr);
  };
  const std::string asset = "sha256:" + kAsset, inside = fs::canonical(root / "second").string();
  for (const int must_exist : {0, 1}) {
    for (const char* input : {"", ".", "cpu", "cpu/", "./cpu//model.onnx", "nowhere", "nowhere/./x//y", "cpu/nowhere",
                              "../x", "cpu/..", "/etc", "out", "out/nowhere", "in", "in/model.onnx", "sha256:12"})
      resolve(nullptr, input, must_exist);
    for (const char* inside_asset : {"", "/", "/w.bin", "/nowhere", "/../x", "//w.bin", "x"})
      resolve(nullptr, asset + inside_asset, must_exist);
    resolve(nullptr, "sha256:" + std::string(64, 'b'), must_exist);
    resolve("", "cpu", must_exist);
    resolve(inside.c_str(), "weights", must_exist);
    resolve(inside.c_str(), "cpu", must_exist);
    resolve(packages_folder.c_str(), "x", must_exist);
    resolve("/etc", "passwd", must_exist);
    resolve("/etc", "nowhere", must_exist);
    resolve("second", "weights", must_exist);
  }
  const char* path = nullptr;
  Print("reference of null", packages->ModelPackage_ResolveStringRef(package, nullptr, nullptr, 0, &path));
  Print("reference to nowhere", packages->ModelPackage_ResolveStringRef(package, nullptr, "cpu", 0, nullptr));
  packages->ReleaseModelPackageContext(package);
}

using SetOptions = std::function<void(OrtSessionOptions*)>;

OrtModelPackageOptions* OptionsOf(const SetOptions& set) {
  OrtSessionOptions* session = nullptr;
  OrtModelPackageOptions* options = nullptr;
  Must(api->CreateSessionOptions(&session));
  set(session);
  Must(packages->CreateModelPackageOptionsFromSessionOptions(env, session, &options));
  api->ReleaseSessionOptions(session);
  return options;
}

const SetOptions kPlain = [](OrtSessionOptions*) {};
const SetOptions kNamed = [](OrtSessionOptions* options) {
  Must(api->SessionOptionsAppendExecutionProvider(options, "CPU", nullptr, nullptr, 0));
};
const SetOptions kDevice = [](OrtSessionOptions* options) {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  Must(api->GetEpDevices(env, &devices, &count));
  for (size_t i = 0; i < count; ++i) {
    if (std::string_view(api->EpDevice_EpName(devices[i])) != "CPUExecutionProvider") continue;
    return Must(api->SessionOptionsAppendExecutionProvider_V2(options, env, &devices[i], 1, nullptr, nullptr, 0));
  }
};
const SetOptions kPolicy = [](OrtSessionOptions* options) {
  Must(api->SessionOptionsSetEpSelectionPolicy(options, OrtExecutionProviderDevicePolicy_PREFER_CPU));
};

/// Which of the variants is chosen.
void Choose(const char* call, const std::string& variants, const SetOptions& set = kPlain) {
  const fs::path root = Package({{"manifest.json", WithVariants(variants)}, {"a/x", ""}, {"b/x", ""}});
  OrtModelPackageContext* package = nullptr;
  if (OrtStatus* status = packages->CreateModelPackageContext(root.c_str(), &package)) return Print(call, status);
  OrtModelPackageOptions* options = OptionsOf(set);
  OrtModelPackageComponentContext* chosen = nullptr;
  OrtStatus* status = packages->SelectComponent(package, "m", options, &chosen);
  if (status != nullptr) {
    Print(call, status);
  } else {
    const char* name = nullptr;
    PrintValue(call, packages->ModelPackageComponent_GetSelectedVariantName(chosen, &name), name);
  }
  packages->ReleaseModelPackageComponentContext(chosen);
  packages->ReleaseModelPackageOptions(options);
  packages->ReleaseModelPackageContext(package);
}

void Choices() {
  const std::string cpu = R"("ep": "CPUExecutionProvider")";
  const std::pair<const char*, const SetOptions*> all[] = {
      {"plain", &kPlain}, {"named", &kNamed}, {"device", &kDevice}, {"policy", &kPolicy}};
  for (const auto& [name, set] : all) {
    const auto choose = [&, name = name, set = set](const char* what, const std::string& variants) {
      Choose((std::string(what) + ", " + name).c_str(), variants, *set);
    };
    choose("no variant", "{}");
    choose("the only variant", R"({"a": {)" + cpu + "}}");
    choose("one of another provider", R"({"a": {"ep": "CUDAExecutionProvider"}, "b": {)" + cpu + "}}");
    choose("only another provider", R"({"a": {"ep": "CUDAExecutionProvider"}})");
    choose("a short name", R"({"a": {"ep": "CPU"}})");
    choose("a name in small letters", R"({"a": {"ep": "cpuexecutionprovider"}})");
    choose("no provider", R"({"a": {}})");
    choose("an empty provider", R"({"a": {"ep": ""}})");
    choose("no provider and one", R"({"a": {}, "b": {)" + cpu + "}}");
    choose("one and no provider", R"({"a": {)" + cpu + R"(}, "b": {}})");
    choose("equal ones", R"({"b": {)" + cpu + R"(}, "a": {)" + cpu + "}}");
    choose("a device", R"({"a": {)" + cpu + R"(, "device": "cpu"}})");
    choose("a device in capitals", R"({"a": {)" + cpu + R"(, "device": "CPU"}})");
    choose("another device", R"({"a": {)" + cpu + R"(, "device": "gpu"}})");
    choose("an unknown device", R"({"a": {)" + cpu + R"(, "device": "x"}})");
    choose("an empty device", R"({"a": {)" + cpu + R"(, "device": ""}})");
    choose("another device and one", R"({"a": {)" + cpu + R"(, "device": "gpu"}, "b": {)" + cpu + R"(, "device": "cpu"}})");
    choose("no device and one", R"({"a": {)" + cpu + R"(}, "b": {)" + cpu + R"(, "device": "cpu"}})");
    choose("compatibility", R"({"a": {)" + cpu + R"(, "compatibility_string": "x"}})");
    choose("no compatibility and some", R"({"a": {)" + cpu + R"(}, "b": {)" + cpu + R"(, "compatibility_string": "x"}})");
    choose("no folder", R"({"nowhere": {)" + cpu + "}}");
  }
  OrtModelPackageContext* package = Open("package to choose of", WholePackage());
  OrtModelPackageOptions* options = OptionsOf(kPlain);
  OrtModelPackageComponentContext* chosen = nullptr;
  Print("choice of no component", packages->SelectComponent(package, "nothing", options, &chosen));
  Print("choice of null", packages->SelectComponent(package, nullptr, options, &chosen));
  Print("choice without options", packages->SelectComponent(package, "first", nullptr, &chosen));
  Print("choice to nowhere", packages->SelectComponent(package, "first", options, nullptr));
  Print("choice", packages->SelectComponent(package, "first", options, &chosen));
  packages->ReleaseModelPackageOptions(options);
  packages->ReleaseModelPackageContext(package);  // what is chosen stays
  const char* name = nullptr;
  const char* path = nullptr;
  PrintValue("its name", packages->ModelPackageComponent_GetSelectedVariantName(chosen, &name), name);
  Print("its name to nowhere", packages->ModelPackageComponent_GetSelectedVariantName(chosen, nullptr));
  OrtStatus* status = packages->ModelPackageComponent_GetSelectedVariantFolderPath(chosen, &path);
  PrintValue("its folder", status, Shown(path).c_str());
  Print("its folder to nowhere", packages->ModelPackageComponent_GetSelectedVariantFolderPath(chosen, nullptr));
  packages->ReleaseModelPackageComponentContext(chosen);
}

/// What a variant without a folder says of it.
void Folders() {
  OrtModelPackageContext* package = Open("package without folders", Package({{"manifest.json", WithVariant("")}}));
  OrtModelPackageOptions* options = OptionsOf(kPlain);
  OrtModelPackageComponentContext* chosen = nullptr;
  Must(packages->SelectComponent(package, "m", options, &chosen));
  const char* path = "before";
  OrtStatus* status = packages->ModelPackageComponent_GetSelectedVariantFolderPath(chosen, &path);
  PrintValue("its folder", status, Shown(path).c_str());
  packages->ReleaseModelPackageComponentContext(chosen);
  packages->ReleaseModelPackageOptions(options);
  packages->ReleaseModelPackageContext(package);
}

void Bare() {
  OrtSessionOptions* session = nullptr;
  OrtModelPackageOptions* options = nullptr;
  Must(api->CreateSessionOptions(&session));
  Print("options without an environment",
        packages->CreateModelPackageOptionsFromSessionOptions(nullptr, session, &options));
  Print("options of nothing", packages->CreateModelPackageOptionsFromSessionOptions(env, nullptr, &options));
  Print("options to nowhere", packages->CreateModelPackageOptionsFromSessionOptions(env, session, nullptr));
  api->ReleaseSessionOptions(session);
  packages->ReleaseModelPackageOptions(nullptr);
  packages->ReleaseModelPackageContext(nullptr);
  packages->ReleaseModelPackageComponentContext(nullptr);
}

/// What the session of the package's only variant computes.
void RunOf(const char* call, const fs::path& root, const char* component = "m", const SetOptions* of_session = nullptr,
           const SetOptions& set = kPlain) {
  OrtModelPackageContext* package = nullptr;
  if (OrtStatus* status = packages->CreateModelPackageContext(root.c_str(), &package)) return Print(call, status);
  OrtModelPackageOptions* options = OptionsOf(set);
  OrtModelPackageComponentContext* chosen = nullptr;
  OrtSessionOptions* session_options = nullptr;
  if (of_session != nullptr) {
    Must(api->CreateSessionOptions(&session_options));
    (*of_session)(session_options);
  }
  OrtSession* session = nullptr;
  OrtStatus* status = packages->SelectComponent(package, component, options, &chosen);
  if (status == nullptr) status = packages->CreateSession(env, chosen, session_options, &session);
  Print(call, status);
  packages->ReleaseModelPackageComponentContext(chosen);
  packages->ReleaseModelPackageOptions(options);
  packages->ReleaseModelPackageContext(package);
  if (session_options != nullptr) api->ReleaseSessionOptions(session_options);
  if (session == nullptr) return;
  Must(RunSum(call, session));
  api->ReleaseSession(session);
}

fs::path WithModel(const std::string& info, const std::string& model = tiny::AddWeight(false)) {
  return Package({{"manifest.json", WithInfo(info)},
                  {"cpu/model.onnx", model},
                  {"cpu/weights/w.bin", std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12)}});
}

void Sessions() {
  RunOf("session of a package", WithModel(R"({"model_file": "model.onnx"})"));
  RunOf("session of a device", WithModel(R"({"model_file": "model.onnx"})"), "m", nullptr, kDevice);
  RunOf("session of a policy", WithModel(R"({"model_file": "model.onnx"})"), "m", nullptr, kPolicy);
  RunOf("session with shared weights", WholePackage(), "second");
  RunOf("session with shared weights and options", WholePackage(), "second", &kPlain);
  RunOf("session without information",
        Package({{"manifest.json", WithVariant("")}, {"cpu/model.onnx", tiny::AddWeight(false)}}));
  RunOf("session of empty information", WithModel("{}"));
  RunOf("session of an empty name", WithModel(R"({"model_file": ""})"));
  RunOf("session of options alone", WithModel(R"({"session_options": {}})"));
  RunOf("session of no file", WithModel(R"({"model_file": "nowhere.onnx"})"));
  RunOf("session of a folder", WithModel(R"({"model_file": "."})"));
  RunOf("session of a folder that is not there", Package({{"manifest.json", WithInfo(R"({"model_file": "model.onnx"})")}}));
  RunOf("session of rubbish", WithModel(R"({"model_file": "model.onnx"})", "rubbish"));
  const std::string weights = R"({"model_file": "model.onnx", "session_options": )"
                              R"({"session.model_external_initializers_file_folder_path": "weights"}})";
  const std::string model = tiny::AddWeight(true);
  RunOf("session with a folder of weights", WithModel(weights, model));
  RunOf("session with a folder of weights and options", WithModel(weights, model), "m", &kPlain);
  RunOf("session without its weights", WithModel(R"({"model_file": "model.onnx"})", model));
  const SetOptions elsewhere = [](OrtSessionOptions* options) {
    Must(api->AddSessionConfigEntry(options, "session.model_external_initializers_file_folder_path", "/nowhere"));
  };
  RunOf("session with weights elsewhere", WithModel(weights, model), "m", &elsewhere);
  const auto option = [](const char* call, const std::string& options, const SetOptions* of_session = nullptr,
                         const SetOptions& set = kPlain) {
    RunOf(call, WithModel(R"({"model_file": "model.onnx", )" + options + "}"), "m", of_session, set);
  };
  option("session with an option", R"("session_options": {"session.intra_op_num_threads": "1"})");
  option("session with an unknown option", R"("session_options": {"made.up": "1"})");
  option("session with an option of no name", R"("session_options": {"": "1"})");
  option("session with an option of a long name", R"("session_options": {")" + std::string(1025, 'k') + R"(": "1"})");
  option("session with a long option", R"("session_options": {"a": ")" + std::string(8193, 'k') + R"("})");
  option("session with a bad option", R"("session_options": {"session.use_per_session_threads": "0"})");
  option("session with a bad option and options", R"("session_options": {"session.use_per_session_threads": "0"})",
         &kPlain);
  option("session with a provider's option", R"("provider_options": {"a": "1"})");
  option("session with no provider's option", R"("provider_options": {})");
  option("session with a provider's option and options", R"("provider_options": {"a": "1"})", &kPlain);
  option("session with a provider's option, named", R"("provider_options": {"a": "1"})", nullptr, kNamed);
  option("session with a provider's option, device", R"("provider_options": {"a": "1"})", nullptr, kDevice);
  option("session with a provider's option, policy", R"("provider_options": {"a": "1"})", nullptr, kPolicy);
  option("session with a provider's option of no name", R"("provider_options": {"": "1"})", nullptr, kDevice);
  OrtSession* session = nullptr;
  Print("session of nothing chosen", packages->CreateSession(env, nullptr, nullptr, &session));
  const fs::path file = Package(
      {{"model.onnx", tiny::AddWeight(true)}, {"weights/w.bin", std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12)}});
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  Must(api->AddSessionConfigEntry(options, "session.model_external_initializers_file_folder_path",
                                  (file / "weights").c_str()));
  Print("a file whose weights lie elsewhere", api->CreateSession(env, (file / "model.onnx").c_str(), options, &session));
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  Print("CreateSession of a package's folder", api->CreateSession(env, WithModel("{}").c_str(), nullptr, &session));
}

}  // namespace

void PackageCalls() {
  packages = api->GetModelPackageApi();
  packages_folder = fs::temp_directory_path() / ("packages" + std::to_string(std::hash<const void*>()(&packages)));
  fs::remove_all(packages_folder);
  fs::create_directories(packages_folder);
  ManifestCalls();
  Bare();
  Answers();
  References();
  Choices();
  Folders();
  Sessions();
  fs::remove_all(packages_folder);
}
