#pragma once

// Opening files by names that strangers may have chosen: what is no regular file is refused instead of waited for.

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace tessera {

/// A regular file, open for reading. Names of FIFOs, devices, sockets and folders are refused, without waiting for a
/// writer.
class RegularFile {
 public:
  /// Throws Error(kNoSuchFile) saying what is wrong.
  explicit RegularFile(const std::filesystem::path& path);

  /// The same for a cache, whose content decides what the process runs. Refuses links, files that do not belong to the
  /// process's effective user or root, and those that others may write to. What the file says is then this user's, whoever
  /// may write to its folder; a folder where anybody may replace it (writable by all without the sticky bit) is refused all
  /// the same.
  static RegularFile OfCache(const std::filesystem::path& path);

  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  int descriptor() const noexcept { return file_; }
  const struct stat& status() const noexcept { return status_; }
  size_t size() const noexcept { return static_cast<size_t>(status_.st_size); }
  /// Bytes that it takes on its device: less than its size where it has holes.
  size_t stored() const noexcept;
  /// Everything that is in it. Throws Error(kNoSuchFile) where it cannot be read.
  std::vector<std::byte> Read() const;
  /// Its bytes from `offset` on, as many as asked for. Throws Error(kNoSuchFile) where there are fewer.
  void Read(std::span<std::byte> bytes, size_t offset = 0) const;

 private:
  RegularFile(const std::filesystem::path& path, int more_flags);

  const std::filesystem::path path_;
  int file_ = -1;
  struct stat status_{};
};

}  // namespace tessera
