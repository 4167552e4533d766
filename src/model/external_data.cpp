#include "model/external_data.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/mapped_file.h"

namespace tessera {
namespace {

size_t ParseSize(const std::string& text, std::string_view key) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  Require(error == std::errc() && end == text.data() + text.size(), "external data: {} '{}' is not a size", key, text);
  return value;
}

namespace fs = std::filesystem;

/// Both with every link followed.
bool IsInside(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

/// `location` resolved against the folders, with every link followed, when it stays inside one of them. Caches of downloads
/// link to the model and to its data in a folder of their own: then both are there.
fs::path Resolve(const DataFolders& folders, const std::string& location) {
  const fs::path relative = fs::path(location).lexically_normal();
  Require(
      !location.empty() && location.find('\0') == std::string::npos && relative.is_relative() && *relative.begin() != "..",
      "external data '{}' is outside the model's folder", location);
  std::error_code error;
  const fs::path root = fs::canonical(folders.named, error);
  Require(!error, "the model's folder {} cannot be read", folders.named.string());
  fs::path file = fs::canonical(root / relative, error);
  if (error && !folders.real.empty()) file = fs::canonical(folders.real / relative, error);
  if (error) Fail(ErrorCode::kNoSuchFile, "external data '{}' does not exist in {}", location, root.string());
  Require(IsInside(file, root) || (!folders.real.empty() && IsInside(file, folders.real)),
          "external data '{}' leads outside the model's folder through a link", location);
  return file;
}

}  // namespace

SharedBytes ExternalData::Open(const std::string& location) {
  Require(!folders_.named.empty(), "its data is external, and a model from memory has no folder to find it in");
  const std::filesystem::path path = Resolve(folders_, location);
  std::string stamp = FileStamp(path);
  const MappedFile file = open_ ? open_(path) : MapFile(path);
  if (on_file_) on_file_(file.stored);
  found_.push_back({location, path, std::move(stamp)});
  return {file.bytes, file.owner};
}

SharedBytes ExternalData::Find(const onnx::TensorProto& tensor) {
  std::string location;
  size_t offset = 0;
  std::optional<size_t> length;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = ParseSize(entry.value(), "offset");
    if (entry.key() == "length") length = ParseSize(entry.value(), "length");
  }
  auto found = files_.find(location);
  if (found == files_.end()) found = files_.emplace(location, Open(location)).first;
  const SharedBytes& file = found->second;
  const size_t size = file.bytes.size();
  Require(offset <= size && length.value_or(0) <= size - offset,
          "external data '{}' has {} bytes; offset {} and length {} do not fit", location, size, offset,
          length.value_or(0));
  return {file.bytes.subspan(offset, length.value_or(size - offset)), file.owner};
}

}  // namespace tessera
