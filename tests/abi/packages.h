#pragma once

// What the programs share that write and open model packages.

#include <filesystem>
#include <fstream>
#include <string>

#include "answers.h"

namespace fs = std::filesystem;

inline const OrtModelPackageApi* packages;
/// Of the packages that the program writes.
inline fs::path packages_folder;
inline const std::string kAsset(64, 'a');

/// A package of files, each with its text.
inline fs::path Package(std::initializer_list<std::pair<const char*, std::string>> files) {
  static int count = 0;
  const fs::path root = packages_folder / ("p" + std::to_string(count++));
  fs::create_directories(root);
  for (const auto& [name, text] : files) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << text;
  }
  return root;
}

/// What a call with the JSON is called, without what separates that from its answer.
inline std::string Called(const char* what, std::string json) {
  std::erase(json, ':');
  return std::string(what) + " " + json;
}

inline OrtModelPackageContext* Open(const char* call, const fs::path& root) {
  OrtModelPackageContext* package = nullptr;
  Print(call, packages->CreateModelPackageContext(root.c_str(), &package));
  return package;
}

/// Whether a package opens that has the manifest, a model and a component in a file.
inline void TryManifest(const char* call, const std::string& manifest) {
  const fs::path root = Package({{"manifest.json", manifest},
                                 {"cpu/model.onnx", tiny::AddWeight(false)},
                                 {"part/component.json", R"({"variants": {"a": {"ep": "CPUExecutionProvider"}}})"},
                                 {"part/a/model.onnx", tiny::AddWeight(false)}});
  packages->ReleaseModelPackageContext(Open(call, root));
  fs::remove_all(root);
}

inline std::string WithComponents(const std::string& components) {
  return R"({"schema_version": "1.0", "components": )" + components + "}";
}
/// One component "m" of these variants.
inline std::string WithVariants(const std::string& variants) {
  return WithComponents(R"({"m": {"variants": )" + variants + "}}");
}
/// One variant, for the processor, in the folder "cpu".
inline std::string WithVariant(const std::string& fields) {
  return WithVariants(R"({"cpu": {"ep": "CPUExecutionProvider")" + fields + "}}");
}
/// What it says for ONNX Runtime.
inline std::string WithInfo(const std::string& info) { return WithVariant(R"(, "executor_info": {"ort": )" + info + "}"); }
