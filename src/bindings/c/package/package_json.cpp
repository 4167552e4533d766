#include "bindings/c/package/package_json.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "base/mapped_file.h"
#include "base/regular_file.h"

namespace tessera::c_abi {
namespace {

constexpr int kMostDepth = 64;
constexpr size_t kMostMembers = 16384;  // of one file: each is looked for among those before it

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Ends a parse that goes too far.
class Limits {
 public:
  explicit Limits(const std::filesystem::path& file) : file_(file) {}

  bool operator()(int depth, Json::parse_event_t event, Json& /*parsed*/) {
    if (depth > kMostDepth) Fail(ErrorCode::kFail, "'{}' has JSON deeper than {}", file_.string(), kMostDepth);
    if (event == Json::parse_event_t::key && ++members_ > kMostMembers)
      Fail(ErrorCode::kFail, "'{}' has more than {} members", file_.string(), kMostMembers);
    return true;
  }

 private:
  const std::filesystem::path& file_;
  size_t members_ = 0;
};

}  // namespace

Json PackageFiles::Read(const std::filesystem::path& file) {
  const RegularFile opened(file);
  if (opened.size() > left_)
    Fail(ErrorCode::kFail, "'{}' has {} bytes, of which the package may have {} more", file.string(), opened.size(), left_);
  left_ -= opened.size();
  const std::vector<std::byte> bytes = opened.Read();
  try {
    return Json::parse(TextOf(bytes), Limits(file));
  } catch (const Json::exception& error) {
    Fail(ErrorCode::kFail, "'{}' is no JSON: {}", file.string(), error.what());
  }
}

void PackageFiles::Check(const std::filesystem::path& file) const {
  if (!Json::accept(TextOf(MapFile(file).bytes))) Fail(ErrorCode::kFail, "'{}' is no JSON", file.string());
}

void RequireObject(const Json& json, std::string_view where) {
  if (!json.is_object()) Fail(ErrorCode::kFail, "{} is a JSON {}, expected an object", where, json.type_name());
}

void RefuseUnknown(const Json& object, std::initializer_list<std::string_view> known, std::string_view where) {
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(known, name) == known.end())
      Fail(ErrorCode::kFail, "{} has a member '{}', which this version does not know", where, name);
  }
}

const Json* Member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const std::string* TextMember(const Json& object, const char* name, std::string_view where) {
  const Json* member = Member(object, name);
  if (member == nullptr) return nullptr;
  if (!member->is_string())
    Fail(ErrorCode::kFail, "'{}' of {} is a JSON {}, expected a text", name, where, member->type_name());
  return member->get_ptr<const std::string*>();
}

}  // namespace tessera::c_abi
