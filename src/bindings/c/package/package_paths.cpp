// Paths of packages: strangers write them, so they lead nowhere but into the package's own folder.

#include <algorithm>
#include <system_error>

#include "base/check.h"
#include "bindings/c/package/asset_name.h"
#include "bindings/c/package/package.h"

namespace tessera::c_abi {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPath = 4096;  // what the system takes

void CheckText(std::string_view text) {
  if (text.empty()) Fail(ErrorCode::kFail, "a path is empty");
  if (text.size() > kMostPath) Fail(ErrorCode::kFail, "a path has {} characters, {} are the most", text.size(), kMostPath);
  if (text.find('\0') != text.npos) Fail(ErrorCode::kFail, "the path '{}' has a zero in it", text);
}

bool LiesIn(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

/// Without links, as far as it exists.
fs::path Followed(const fs::path& path, bool must_exist) {
  std::error_code error;
  const bool there = exists(path, error);
  if (!there && must_exist) Fail(ErrorCode::kFail, "'{}' does not exist", path.string());
  fs::path followed = there ? canonical(path, error) : weakly_canonical(path, error);
  if (error) Fail(ErrorCode::kFail, "'{}' cannot be followed: {}", path.string(), error.message());
  return followed;
}

/// Links are followed before it is seen where the path leads.
fs::path ResolveIn(const fs::path& base, const fs::path& root, std::string_view text, bool must_exist) {
  CheckText(text);
  const fs::path given(text);
  if (given.is_absolute()) Fail(ErrorCode::kFail, "'{}' is absolute; name a place inside of the package", text);
  if (std::ranges::any_of(given, [](const fs::path& part) { return part == ".."; }))
    Fail(ErrorCode::kFail, "'{}' leads upwards; name a place inside of the package", text);
  fs::path followed = Followed(base / given, must_exist);
  if (!LiesIn(followed, root))
    Fail(ErrorCode::kFail, "'{}' leads to '{}', outside of '{}'", text, followed.string(), root.string());
  return followed;
}

}  // namespace

fs::path PackagePlaces::Resolve(const fs::path& base, std::string_view text, bool must_exist) const {
  if (const auto [asset, inside] = SplitAsset(text); !asset.empty()) {
    const auto found = assets.find(asset);
    if (found == assets.end()) Fail(ErrorCode::kFail, "the package has no shared folder '{}'", asset);
    const fs::path folder = Followed(found->second, false);
    return ResolveIn(folder, folder, inside.empty() ? "." : inside, must_exist);
  }
  if (confined) return ResolveIn(base, root, text, must_exist);
  CheckText(text);
  return Followed(base / fs::path(text), must_exist);
}

bool PackagePlaces::Hold(const fs::path& path) const { return LiesIn(path, root); }

}  // namespace tessera::c_abi
