// Model packages: what is read of their manifests.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "packages.h"

namespace {

void Roots() {
  OrtModelPackageContext* package = nullptr;
  Print("package of no path", packages->CreateModelPackageContext(nullptr, &package));
  Print("package to nowhere", packages->CreateModelPackageContext(packages_folder.c_str(), nullptr));
  Open("package of an empty path", "");
  Open("package that is not there", packages_folder / "nothing");
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

}  // namespace

void ManifestCalls() {
  Roots();
  Manifests();
  Hostile();
  Components();
  Variants();
  Infos();
  Assets();
}
