// Model packages: what is read of their manifests, which variants are chosen, and the sessions of them.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "answers.h"

namespace {

namespace fs = std::filesystem;

const OrtModelPackageApi* packages;
fs::path folder;
const std::string kAsset(64, 'a');

/// A package of files, each with its text.
fs::path Package(std::initializer_list<std::pair<const char*, std::string>> files) {
  static int count = 0;
  const fs::path root = folder / ("p" + std::to_string(count++));
  fs::create_directories(root);
  for (const auto& [name, text] : files) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << text;
  }
  return root;
}

/// What a call with the JSON is called, without what separates that from its answer.
std::string Called(const char* what, std::string json) {
  std::erase(json, ':');
  return std::string(what) + " " + json;
}

OrtModelPackageContext* Open(const char* call, const fs::path& root) {
  OrtModelPackageContext* package = nullptr;
  Print(call, packages->CreateModelPackageContext(root.c_str(), &package));
  return package;
}

/// Whether a package opens that has the manifest, a model and a component in a file.
void TryManifest(const char* call, const std::string& manifest) {
  const fs::path root = Package({{"manifest.json", manifest},
                                 {"cpu/model.onnx", tiny::AddWeight(false)},
                                 {"part/component.json", R"({"variants": {"a": {"ep": "CPUExecutionProvider"}}})"},
                                 {"part/a/model.onnx", tiny::AddWeight(false)}});
  packages->ReleaseModelPackageContext(Open(call, root));
  fs::remove_all(root);
}

std::string WithComponents(const std::string& components) {
  return R"({"schema_version": "1.0", "components": )" + components + "}";
}
/// One component "m" of these variants.
std::string WithVariants(const std::string& variants) { return WithComponents(R"({"m": {"variants": )" + variants + "}}"); }
/// One variant, for the processor, in the folder "cpu".
std::string WithVariant(const std::string& fields) {
  return WithVariants(R"({"cpu": {"ep": "CPUExecutionProvider")" + fields + "}}");
}
/// What it says for ONNX Runtime.
std::string WithInfo(const std::string& info) { return WithVariant(R"(, "executor_info": {"ort": )" + info + "}"); }

void Roots() {
  OrtModelPackageContext* package = nullptr;
  Print("package of no path", packages->CreateModelPackageContext(nullptr, &package));
  Print("package to nowhere", packages->CreateModelPackageContext(folder.c_str(), nullptr));
  Open("package of an empty path", "");
  Open("package that is not there", folder / "nothing");
  const fs::path root = Package({{"manifest.json", WithVariants("{}")}});
  Open("package of a file", root / "manifest.json");
  Open("package without a manifest", Package({{"other.json", "{}"}}));
  const fs::path of_folder = Package({});
  fs::create_directories(of_folder / "manifest.json");
  Open("manifest that is a folder", of_folder);
  const fs::path of_link = Package({{"real.json", WithVariants("{}")}});
  fs::create_symlink("real.json", of_link / "manifest.json");
  packages->ReleaseModelPackageContext(Open("manifest that is a link", of_link));
  const fs::path of_other = Package({});
  fs::create_symlink(root / "manifest.json", of_other / "manifest.json");
  packages->ReleaseModelPackageContext(Open("manifest behind a link", of_other));
  const fs::path of_circle = Package({});
  fs::create_symlink("manifest.json", of_circle / "manifest.json");
  Open("manifest that is a link to itself", of_circle);
}

void Manifests() {
  TryManifest("manifest", WithVariants("{}"));
  TryManifest("empty manifest", "");
  TryManifest("manifest of rubbish", "rubbish");
  TryManifest("manifest of a list", "[]");
  TryManifest("manifest with more behind it", WithVariants("{}") + "x");
  TryManifest("manifest with a comment", "/* one */" + WithVariants("{}"));
  TryManifest("manifest with a byte order mark", "\xef\xbb\xbf" + WithVariants("{}"));
  TryManifest("manifest of bad UTF-8", WithVariants("{\"\xff\": {}}"));
  TryManifest("manifest without a version", R"({"components": {"m": {"variants": {}}}})");
  for (const char* version : {"1",
                              "2",
                              "0",
                              "-1",
                              "1.0",
                              "\"1\"",
                              "\"1.0\"",
                              "\"1.9\"",
                              "\"1.\"",
                              "\".1\"",
                              "\"1.0.0\"",
                              "\"2.0\"",
                              "\"x\"",
                              "\"\"",
                              "\"01.0\"",
                              "\" 1.0\"",
                              "\"1.0 \"",
                              "\"+1.0\"",
                              "\"1.-1\"",
                              "null",
                              "true",
                              "[1]",
                              "\"99999999999999999999.0\"",
                              "99999999999999999999",
                              "\"1.99999999999999999999\"",
                              "18446744073709551617"}) {
    TryManifest(Called("version", version).c_str(),
                std::string(R"({"components": {"m": {"variants": {}}}, "schema_version": )") + version + "}");
  }
  TryManifest("manifest without components", R"({"schema_version": "1.0"})");
  for (const char* value : {"{}", "[]", "null", "\"part\"", "3"})
    TryManifest(Called("components", value).c_str(), WithComponents(value));
  for (const char* field :
       {"package_name", "package_version", "description", "layout", "shared_assets", "additional_metadata", "unknown"}) {
    for (const char* value : {"3", "\"x\"", "{}", "null"}) {
      TryManifest(Called(field, value).c_str(),
                  R"({"schema_version": "1.0", "components": {}, ")" + std::string(field) + "\": " + value + "}");
    }
  }
  TryManifest("unknown of the next version", R"({"schema_version": "1.1", "components": {}, "unknown": 3})");
  TryManifest("unknown of a component of a newer version",
              R"({"schema_version": "1.5", "components": {"m": {"variants": {"cpu": {"unknown": 3}}, "unknown": 3}}})");
  TryManifest("unknown of a newer version", R"({"schema_version": "1.5", "components": {}, "unknown": 3})");
  TryManifest("layout portable", R"({"schema_version": "1.0", "components": {}, "layout": "portable"})");
  TryManifest("layout installed", R"({"schema_version": "1.0", "components": {}, "layout": "installed"})");
  TryManifest("a field twice", R"({"schema_version": "9.0", "schema_version": "1.0", "components": {}})");
  TryManifest("a field twice, bad the second time",
              R"({"schema_version": "1.0", "schema_version": "9.0", "components": {}})");
}

/// As a stranger may write them.
void Hostile() {
  const std::string opened(1000, '['), closed(1000, ']');
  TryManifest("deep manifest",
              R"({"schema_version": "1.0", "components": {}, "additional_metadata": )" + opened + closed + "}");
  std::string members;
  for (int i = 0; i < 20000; ++i) members += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  TryManifest("manifest of many members",
              R"({"schema_version": "1.0", "components": {}, "additional_metadata": {)" + members + "}}");
  TryManifest("large manifest", R"({"schema_version": "1.0", "components": {}, "additional_metadata": ")" +
                                    std::string(20 << 20, 'x') + "\"}");
  TryManifest("manifest of an endless path", WithComponents(R"({"m": ")" + std::string(100000, 'x') + "\"}"));
  const fs::path of_circle = Package({{"manifest.json", WithInfo(R"({"model_file": "a/x"})")}, {"cpu/x", ""}});
  fs::create_symlink("b", of_circle / "cpu/a");
  fs::create_symlink("a", of_circle / "cpu/b");
  packages->ReleaseModelPackageContext(Open("model behind a circle of links", of_circle));
  const fs::path of_pipe = Package({{"manifest.json", WithComponents(R"({"m": 3})")}, {"cpu/x", ""}});
  fs::create_symlink("/dev/null", of_pipe / "part");
  packages->ReleaseModelPackageContext(Open("package beside a device", of_pipe));
  const fs::path outside = Package({{"w.bin", "x"}});
  const fs::path of_asset = Package({{"manifest.json", WithVariants("{}")}, {"shared_assets/x", ""}});
  fs::create_symlink(outside, of_asset / "shared_assets" / ("sha256-" + kAsset));
  OrtModelPackageContext* package = Open("shared folder behind a link", of_asset);
  const char* path = nullptr;
  OrtStatus* status =
      packages->ModelPackage_ResolveStringRef(package, nullptr, ("sha256:" + kAsset + "/w.bin").c_str(), 1, &path);
  PrintValue("what is in it", status, path == nullptr ? "nothing" : fs::path(path).filename().c_str());
  packages->ReleaseModelPackageContext(package);
}

void Components() {
  for (const char* value : {"null",
                            "3",
                            "[]",
                            "{}",
                            "\"\"",
                            "\".\"",
                            "\"nowhere\"",
                            "\"part\"",
                            "\"part/component.json\"",
                            "\"part/a\"",
                            "\"part/../part\"",
                            "\"../x\"",
                            "\"/\"",
                            "\"cpu/model.onnx\"",
                            "\"./part\"",
                            R"({"variants": []})",
                            R"({"variants": {}, "component_name": 3})",
                            R"({"variants": {}, "component_name": "other"})",
                            R"({"variants": {}, "unknown": 3})",
                            R"({"variants": {}, "additional_metadata": 3})"}) {
    TryManifest(Called("component", value).c_str(), WithComponents(std::string(R"({"m": )") + value + "}"));
  }
  TryManifest("component of a name with a zero", WithComponents(R"({"a\u0000b": {"variants": {}}})"));
  TryManifest("component twice", WithComponents(R"({"m": 3, "m": {"variants": {}}})"));
  TryManifest("component of no name", WithComponents(R"({"": {"variants": {}}})"));
  TryManifest("component of a path's name", WithComponents(R"({"../m": {"variants": {}}})"));
  const fs::path outside = Package({{"component.json", R"({"variants": {}})"}});
  const fs::path linked = Package({{"manifest.json", WithComponents(R"({"m": "part"})")}});
  fs::create_symlink(outside, linked / "part");
  packages->ReleaseModelPackageContext(Open("component behind a link", linked));
  const fs::path installed = Package({{"manifest.json", R"({"schema_version": "1.0", "layout": "installed", "components":)"
                                                        R"( {"m": ")" +
                                                            outside.string() + R"("}})"}});
  packages->ReleaseModelPackageContext(Open("component outside of an installed package", installed));
  const fs::path file_link = Package({{"manifest.json", WithComponents(R"({"m": "part"})")}, {"part/x", ""}});
  fs::create_symlink(outside / "component.json", file_link / "part" / "component.json");
  packages->ReleaseModelPackageContext(Open("component's file behind a link", file_link));
  packages->ReleaseModelPackageContext(
      Open("component of rubbish",
           Package({{"manifest.json", WithComponents(R"({"m": "part"})")}, {"part/component.json", "x"}})));
}

void Variants() {
  for (const char* value : {"null",
                            "3",
                            "[]",
                            "{}",
                            R"({"unknown": 3})",
                            R"({"ep": 3})",
                            R"({"ep": null})",
                            R"({"device": 3})",
                            R"({"device": "tpu"})",
                            R"({"compatibility_string": 3})",
                            R"({"additional_metadata": 3})",
                            R"({"executor_info": 3})",
                            R"({"executor_info": {}})",
                            R"({"executor_info": {"other": 3}})",
                            R"({"executor_info": {"other": "nowhere.json"}})",
                            R"({"executor_info": {"other": {}}})",
                            R"({"variant_directory": 3})",
                            R"({"variant_directory": ""})",
                            R"({"variant_directory": "nowhere"})",
                            R"({"variant_directory": "../x"})",
                            R"({"variant_directory": "/tmp"})",
                            R"({"variant_directory": "part"})",
                            R"({"variant_directory": "manifest.json"})",
                            R"({"variant_directory": "."})"}) {
    TryManifest(Called("variant", value).c_str(), WithVariants(std::string(R"({"cpu": )") + value + "}"));
  }
  TryManifest("variant of no name", WithVariants(R"({"": {}})"));
  TryManifest("variant without a folder", WithVariants(R"({"nowhere": {}})"));
  TryManifest("variant of a path's name", WithVariants(R"({"../x": {}})"));
  TryManifest("variant of a path's name with a folder", WithVariants(R"({"../x": {"variant_directory": "cpu"}})"));
  TryManifest("variant's information without a folder",
              WithVariants(R"({"nowhere": {"executor_info": {"ort": "x.json"}}})"));
  TryManifest("variant's information inside without a folder",
              WithVariants(R"({"nowhere": {"executor_info": {"ort": {"model_file": "model.onnx"}}}})"));
}

void Infos() {
  for (const char* value : {"3",
                            "{}",
                            "\"nowhere.json\"",
                            "\"../manifest.json\"",
                            "\"model.onnx\"",
                            "\"\"",
                            "\".\"",
                            R"({"model_file": 3})",
                            R"({"model_file": ""})",
                            R"({"model_file": "nowhere"})",
                            R"({"model_file": "../cpu/model.onnx"})",
                            R"({"model_file": "/etc/hostname"})",
                            R"({"model_file": "model.onnx\u0000"})",
                            R"({"model_file": "."})",
                            R"({"unknown": 3})",
                            R"({"session_options": 3})",
                            R"({"session_options": null})",
                            R"({"session_options": {}})",
                            R"({"session_options": {"a": 3}})",
                            R"({"session_options": {"": "3"}})",
                            R"({"session_options": {"made.up": "3"}})",
                            R"({"session_options": {"a\u0000b": "3"}})",
                            R"({"session_options": {"a": "3\u0000"}})",
                            R"({"session_options": {"session.enable_profiling": "0"}})",
                            R"({"session_options": {"session.optimized_model_filepath": "x"}})",
                            R"({"session_options": {"session.debug_layout_transformation": "0"}})",
                            R"({"session_options": {"session.collect_node_memory_stats_to_file": "x"}})",
                            R"({"session_options": {"session.model_external_initializers_file_folder_path": "../x"}})",
                            R"({"session_options": {"session.model_external_initializers_file_folder_path": "/x"}})",
                            R"({"session_options": {"session.model_external_initializers_file_folder_path": "nowhere"}})",
                            R"({"session_options": {"session.model_external_initializers_file_folder_path": ""}})",
                            R"({"session_options": {"ep.context_file_path": "../x"}})",
                            R"({"session_options": {"ep.context_file_path": "x"}})",
                            R"({"session_options": {"session.node_partition_config_file": "../x"}})",
                            R"({"session_options": {"session.moe_expert_counter_state_file": "../x"}})",
                            R"({"session_options": {"session.optimized_model_external_initializers_file_name": "../x"}})",
                            R"({"session_options": {"ep.context_model_external_initializers_file_name": "../x"}})",
                            R"({"session_options": {"ep.context_enable": "1"}})",
                            R"({"provider_options": 3})",
                            R"({"provider_options": {}})",
                            R"({"provider_options": {"a": 3}})",
                            R"({"provider_options": {"a\u0000b": "3"}})",
                            R"({"provider_options": {"a": "3"}})"}) {
    TryManifest(Called("information", value).c_str(), WithInfo(value));
  }
  const auto file = [](const char* call, const std::string& info) {
    packages->ReleaseModelPackageContext(
        Open(call, Package({{"manifest.json", WithInfo("\"info.json\"")}, {"cpu/info.json", info}})));
  };
  file("information in a file", R"({"model_file": "model.onnx"})");
  file("information of a list", "[]");
  file("information of nothing", "");
  file("information of rubbish", "x");
}

void Assets() {
  const auto with = [](const std::string& assets) {
    return R"({"schema_version": "1.0", "components": {}, "shared_assets": )" + assets + "}";
  };
  TryManifest("assets", with("{}"));
  TryManifest("assets of a list", with("[]"));
  TryManifest("asset of a bad name", with(R"({"sha256:12": "cpu"})"));
  TryManifest("asset in capitals", with(R"({"sha256:)" + std::string(64, 'A') + R"(": "cpu"})"));
  TryManifest("asset of no path", with(R"({"sha256:)" + kAsset + R"(": 3})"));
  TryManifest("asset of an empty path", with(R"({"sha256:)" + kAsset + R"(": ""})"));
  TryManifest("asset", with(R"({"sha256:)" + kAsset + R"(": "cpu"})"));
  TryManifest("asset that is not there", with(R"({"sha256:)" + kAsset + R"(": "nowhere"})"));
  TryManifest("asset outside", with(R"({"sha256:)" + kAsset + R"(": "../x"})"));
}

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
  const std::string root = fs::canonical(folder).string();
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
  fs::create_symlink(folder, root / "out");
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
    resolve(folder.c_str(), "x", must_exist);
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
  float x[] = {10, 20, 30};
  OrtValue *input = Floats(x, {1, 3}), *output = nullptr;
  const OrtValue* given = input;
  const char *in = "X", *out = "Y";
  Must(api->Run(session, nullptr, &in, &given, 1, &out, 1, &output));
  void* data = nullptr;
  Must(api->GetTensorMutableData(output, &data));
  std::printf("%s computes: %g\n", call, static_cast<double>(static_cast<float*>(data)[2]));
  api->ReleaseValue(output);
  api->ReleaseValue(input);
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
  folder = fs::temp_directory_path() / ("packages" + std::to_string(std::hash<const void*>()(&packages)));
  fs::remove_all(folder);
  fs::create_directories(folder);
  Bare();
  Roots();
  Manifests();
  Hostile();
  Components();
  Variants();
  Infos();
  Assets();
  Answers();
  References();
  Choices();
  Folders();
  Sessions();
  fs::remove_all(folder);
}
