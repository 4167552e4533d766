#pragma once

// JSON of strangers, within limits.

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tessera::c_abi {

using Json = nlohmann::ordered_json;

/// The files of one package, which together may not grow beyond what a session of it is worth.
class PackageFiles {
 public:
  /// Throws Error(kFail) for what is no regular file, no JSON, or more than a package may have.
  Json Read(const std::filesystem::path& file);
  /// Whether there is JSON in it, whose content is another program's. Throws Error likewise.
  void Check(const std::filesystem::path& file) const;

 private:
  size_t left_ = size_t{16} << 20;
};

/// Throws Error(kFail) with `where` in its text.
void RequireObject(const Json& json, std::string_view where);
void RefuseUnknown(const Json& object, std::initializer_list<std::string_view> known, std::string_view where);
/// The member; null: there is none.
const Json* Member(const Json& object, const char* name);
/// The member's text; null: there is none.
const std::string* TextMember(const Json& object, const char* name, std::string_view where);

}  // namespace tessera::c_abi
