// A package's manifest and the files that it names.

#include <charconv>
#include <utility>

#include "base/check.h"
#include "bindings/c/package/asset_name.h"
#include "bindings/c/package/package.h"
#include "bindings/c/package/package_json.h"
#include "bindings/c/package/package_options.h"

namespace tessera::c_abi {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSchemaVersion = 1;

struct SchemaVersion {
  int64_t major = 0, minor = 0;
};

/// Digits at the beginning, which are taken away; nothing where there are none, or too many.
std::optional<int64_t> TakeDigits(std::string_view& text) {
  int64_t number = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

std::optional<SchemaVersion> ParseVersion(const Json& json) {
  if (json.is_number_integer()) return SchemaVersion{json.get<int64_t>(), 0};
  if (!json.is_string()) return std::nullopt;
  std::string_view text = *json.get_ptr<const std::string*>();
  const std::optional<int64_t> major = TakeDigits(text);
  if (!major) return std::nullopt;
  if (text.empty()) return SchemaVersion{*major, 0};
  if (text.front() != '.') return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int64_t> minor = TakeDigits(text);
  if (!minor || !text.empty()) return std::nullopt;
  return SchemaVersion{*major, *minor};
}

SchemaVersion VersionOf(const Json& manifest) {
  const Json* json = Member(manifest, "schema_version");
  if (json == nullptr) Fail(ErrorCode::kFail, "the manifest has no 'schema_version'");
  const std::optional<SchemaVersion> version = ParseVersion(*json);
  if (!version) Fail(ErrorCode::kFail, "'schema_version' of the manifest is not as \"1.0\" is");
  if (version->major != kSchemaVersion)
    Fail(ErrorCode::kFail, "the manifest has schema {}, this build reads {}", version->major, kSchemaVersion);
  return *version;
}

bool IsConfined(const Json& manifest) {
  const std::string* layout = TextMember(manifest, "layout", "the manifest");
  if (layout == nullptr || *layout == "portable") return true;
  if (*layout != "installed") Fail(ErrorCode::kFail, "the layout is '{}', expected 'portable' or 'installed'", *layout);
  return false;
}

PackageVariant::Options OptionsIn(const Json& info, const char* name, std::string_view where) {
  PackageVariant::Options options;
  const Json* object = Member(info, name);
  if (object == nullptr) return options;
  RequireObject(*object, fmt::format("'{}' of {}", name, where));
  for (const auto& [key, value] : object->items()) {
    if (!value.is_string()) Fail(ErrorCode::kFail, "'{}' of {} is no text in '{}'", key, where, name);
    if (key.find('\0') != key.npos) Fail(ErrorCode::kFail, "a name in '{}' of {} has a zero in it", name, where);
    options.emplace(key, *value.get_ptr<const std::string*>());
  }
  return options;
}

/// Reads what a manifest says of its components.
class PackageReader {
 public:
  PackageReader(const PackagePlaces& places, PackageFiles& files, bool strict)
      : places_(places), files_(files), strict_(strict) {}

  PackageComponent ReadComponent(const std::string& name, const Json& json) {
    if (json.is_object()) return ReadBody(name, json, places_.root);
    if (!json.is_string()) Fail(ErrorCode::kFail, "component '{}' is neither a path nor an object", name);
    const fs::path place = places_.Resolve(places_.root, *json.get_ptr<const std::string*>(), true);
    std::error_code error;
    if (!is_directory(place, error)) return ReadBody(name, files_.Read(place), place.parent_path());
    return ReadBody(name, files_.Read(places_.Resolve(place, "component.json", true)), place);
  }

 private:
  PackageComponent ReadBody(const std::string& name, const Json& body, const fs::path& folder) {
    const std::string where = fmt::format("component '{}'", name);
    RequireObject(body, where);
    if (strict_) RefuseUnknown(body, {"component_name", "variants", "additional_metadata"}, where);
    TextMember(body, "component_name", where);  // is for readers
    const Json* variants = Member(body, "variants");
    if (variants == nullptr) Fail(ErrorCode::kFail, "{} has no 'variants'", where);
    RequireObject(*variants, fmt::format("'variants' of {}", where));
    PackageComponent component{name, {}};
    for (const auto& [of_variant, variant] : variants->items())
      component.variants.push_back(
          ReadVariant(of_variant, variant, folder, fmt::format("variant '{}' of {}", of_variant, where)));
    return component;
  }

  PackageVariant ReadVariant(const std::string& name, const Json& json, const fs::path& folder, const std::string& where) {
    RequireObject(json, where);
    if (strict_) {
      RefuseUnknown(json,
                    {"variant_directory", "ep", "device", "compatibility_string", "executor_info", "additional_metadata"},
                    where);
    }
    PackageVariant variant;
    variant.name = name;
    if (const std::string* provider = TextMember(json, "ep", where)) variant.provider = *provider;
    if (const std::string* device = TextMember(json, "device", where)) variant.device = *device;
    if (const std::string* text = TextMember(json, "compatibility_string", where)) variant.compatibility = *text;
    variant.folder = FolderOf(name, TextMember(json, "variant_directory", where), folder);
    if (const Json* infos = Member(json, "executor_info")) ReadInfos(*infos, variant, where);
    return variant;
  }

  /// One that is named must be there; the variant's own name stands for one that may be.
  fs::path FolderOf(const std::string& name, const std::string* given, const fs::path& base) const {
    fs::path folder = places_.Resolve(base, given != nullptr ? *given : name, given != nullptr);
    std::error_code error;
    return exists(folder, error) ? folder : fs::path();
  }

  /// What the package says for each program that reads it; those of others must be there all the same.
  void ReadInfos(const Json& infos, PackageVariant& variant, const std::string& where) {
    RequireObject(infos, fmt::format("'executor_info' of {}", where));
    for (const auto& [program, info] : infos.items()) {
      const bool own = program == "ort";
      if (info.is_object()) {
        if (own) TakeInfo(info, variant, where);
        continue;
      }
      if (!info.is_string()) Fail(ErrorCode::kFail, "'{}' of {} is neither a path nor an object", program, where);
      if (variant.folder.empty())
        Fail(ErrorCode::kFail, "'{}' of {} is a path in a folder that is not there", program, where);
      const fs::path file = places_.Resolve(variant.folder, *info.get_ptr<const std::string*>(), true);
      if (own) {
        TakeInfo(files_.Read(file), variant, where);
      } else {
        files_.Check(file);
      }
    }
  }

  void TakeInfo(const Json& info, PackageVariant& variant, const std::string& where) const {
    RequireObject(info, fmt::format("what ONNX Runtime reads of {}", where));
    const fs::path& base = variant.folder.empty() ? places_.root : variant.folder;
    if (const std::string* model = TextMember(info, "model_file", where))
      variant.model = places_.Resolve(base, *model, false);
    variant.session_options = OptionsIn(info, "session_options", where);
    variant.provider_options = OptionsIn(info, "provider_options", where);
    TakePackageOptions(variant, places_, base, where);
  }

  const PackagePlaces& places_;
  PackageFiles& files_;
  const bool strict_;
};

/// Those that the manifest names, then those that lie in the package's own folder for them.
void FindAssets(const Json& manifest, PackagePlaces& places) {
  std::map<std::string, fs::path, std::less<>> found;
  if (const Json* assets = Member(manifest, "shared_assets")) {
    RequireObject(*assets, "'shared_assets' of the manifest");
    for (const auto& [name, path] : assets->items()) {
      if (!IsAsset(name))
        Fail(ErrorCode::kFail, "shared folder '{}' is not called by a hash, as \"sha256:\" and 64 digits", name);
      const std::string* text = TextMember(*assets, name.c_str(), "'shared_assets'");
      found.emplace(name, places.Resolve(places.root, *text, false));
    }
  }
  std::error_code error;
  for (fs::directory_iterator at(places.root / "shared_assets", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kAssetFolderPrefix) || !IsHash(std::string_view(name).substr(kAssetFolderPrefix.size())))
      continue;
    std::error_code unknown;
    if (at->is_directory(unknown))
      found.emplace(std::string(kAssetPrefix) + name.substr(kAssetFolderPrefix.size()), at->path());
  }
  places.assets = std::move(found);
}

PackagePlaces PlacesOf(const fs::path& root) {
  std::error_code error;
  PackagePlaces places;
  if (is_directory(root, error)) places.root = canonical(root, error);
  if (error || places.root.empty()) Fail(ErrorCode::kFail, "it is no folder");
  return places;
}

Package ReadManifest(const fs::path& root) {
  Package package;
  package.places = PlacesOf(root);
  PackageFiles files;
  const Json manifest = files.Read(package.places.Resolve(package.places.root, "manifest.json", true));
  RequireObject(manifest, "the manifest");
  const SchemaVersion version = VersionOf(manifest);
  package.schema_version = version.major;
  const bool strict = version.minor == 0;  // later ones only add members
  if (strict) {
    RefuseUnknown(manifest,
                  {"schema_version", "package_name", "package_version", "description", "layout", "components",
                   "shared_assets", "additional_metadata"},
                  "the manifest");
  }
  for (const char* name : {"package_name", "package_version", "description"}) TextMember(manifest, name, "the manifest");
  package.places.confined = IsConfined(manifest);
  FindAssets(manifest, package.places);
  const Json* components = Member(manifest, "components");
  if (components == nullptr) Fail(ErrorCode::kFail, "the manifest has no 'components'");
  RequireObject(*components, "'components' of the manifest");
  PackageReader reader(package.places, files, strict);
  for (const auto& [name, component] : components->items())
    package.components.push_back(reader.ReadComponent(name, component));
  return package;
}

}  // namespace

const PackageComponent& Package::Component(std::string_view name) const {
  for (const PackageComponent& component : components) {
    if (component.name == name) return component;
  }
  Fail(ErrorCode::kInvalidArgument, "the package has no component '{}'", name);
}

Package ReadPackage(const fs::path& root) {
  try {
    return ReadManifest(root);
  } catch (const Error& error) {
    Fail(ErrorCode::kFail, "model package '{}': {}", root.string(), error.what());
  }
}

}  // namespace tessera::c_abi
