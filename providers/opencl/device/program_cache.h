#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::opencl {

/// Compiled programs in a folder that any number of the user's processes share. A file holds its whole key and a checksum:
/// one that is damaged, cut off or made for another key counts as absent, and so does one that others may have written
/// (RegularFile::OfCache). What cannot be written is not kept, without an error.
class ProgramCache {
 public:
  /// An empty folder: nothing is kept.
  explicit ProgramCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  bool enabled() const noexcept { return !folder_.empty(); }
  std::optional<std::vector<std::byte>> Load(std::string_view key) const;
  void Store(std::string_view key, std::span<const std::byte> binary) const;
  /// The file of a key.
  std::filesystem::path Path(std::string_view key) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace tessera::opencl
