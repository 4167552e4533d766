#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tessera {

class Allocator;
class RegularFile;

/// A read-only mapping of a whole file, kept by whoever holds `owner`. Whoever maps the same unchanged file meanwhile
/// shares it.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  size_t stored = 0;  // bytes that the file takes on its device: less than its size where it has holes
};

/// Throws Error(kNoSuchFile) when the file cannot be opened or is not a regular file.
MappedFile MapFile(const std::filesystem::path& path);
/// The same of a file that is open.
MappedFile MapFile(const std::filesystem::path& path, const RegularFile& file);
/// What is in the file now, in memory of its own: whatever becomes of the file, this stays. Nobody else shares it.
MappedFile CopyFile(const RegularFile& file, Allocator& memory);

/// Size and time of the file; empty when there is none.
std::string FileStamp(const std::filesystem::path& file);

/// Where bytes of a mapped file lie in it; nothing for others.
struct FilePlace {
  std::filesystem::path file;  // absolute
  size_t offset = 0;
};
std::optional<FilePlace> FindInFiles(const void* data, size_t bytes);

/// Bytes of a mapped file that are not needed for a while take no memory until they are read again; others stay as they
/// are.
void ForgetPages(const void* data, size_t bytes) noexcept;

}  // namespace tessera
