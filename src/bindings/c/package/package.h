#pragma once

// A package of models: components, each in several variants of which a session takes one.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::c_abi {

/// Where the paths of a package may lead, and what its shared folders are.
struct PackagePlaces {
  std::filesystem::path root;  // whole, without links
  bool confined = true;        // no path leads out of the root: what may be shipped; else it is installed on this machine
  std::map<std::string, std::filesystem::path, std::less<>> assets;  // by their "sha256:<64 digits>"

  /// A path or a reference into a shared folder, whole and without links. `base`: the folder that it is read from. Throws
  /// Error(kFail) for one that leads out, and for one that is not there if it must be.
  std::filesystem::path Resolve(const std::filesystem::path& base, std::string_view text, bool must_exist) const;
  /// Whether a path that Resolve gave lies in the root. That of a shared folder that is a link need not.
  bool Hold(const std::filesystem::path& path) const;
};

struct PackageVariant {
  using Options = std::map<std::string, std::string, std::less<>>;

  std::string name;
  std::optional<std::string> provider;
  std::string device, compatibility;  // that it is for; empty: any
  std::filesystem::path folder;       // empty: there is none
  std::filesystem::path model;        // empty: the package says none
  Options session_options, provider_options;
};

struct PackageComponent {
  std::string name;
  std::vector<PackageVariant> variants;  // in the package's order, as are components
};

struct Package {
  int64_t schema_version = 0;
  PackagePlaces places;
  std::vector<PackageComponent> components;

  /// Throws Error(kInvalidArgument) for a name that there is not.
  const PackageComponent& Component(std::string_view name) const;
};

/// What the folder's manifest says. Throws Error(kFail) saying what is wrong with it.
Package ReadPackage(const std::filesystem::path& root);

}  // namespace tessera::c_abi
