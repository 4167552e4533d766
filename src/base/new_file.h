#pragma once

// Files of caches: only their owner reads and writes them, and other processes see them whole or not at all.

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace tessera {

/// A new file, with mode 0600 under a name of its own, that takes the place of `target` or is removed. Where `target` is a
/// link, the link is replaced, not what it leads to.
class NewFile {
 public:
  /// Throws Error(kFail), as all that follows.
  explicit NewFile(std::filesystem::path target);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void WriteAt(uint64_t offset, const void* data, size_t bytes);
  void Resize(uint64_t bytes);
  void Publish();
  /// Its own name.
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void Check(bool good) const;

  const std::filesystem::path target_;
  std::filesystem::path path_;
  int file_ = -1;
};

/// Removes what writers of `target` left behind an hour ago or earlier: one that was killed could not remove its own.
void RemoveAbandonedFiles(const std::filesystem::path& target);

/// The folder and those that it lies in, with mode 0700 where they do not exist yet. Throws Error(kFail).
void MakePrivateFolders(const std::filesystem::path& folder);

}  // namespace tessera
