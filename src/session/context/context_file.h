#pragma once

// The frame of a context file: a header, data laid out for mapping, and a description of it, each with checksums.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_stream.h"
#include "tessera/memory.h"
#include "tessera/provider/thread_pool.h"

namespace tessera {

class LoadLimits;

/// A context file, mapped. Nothing in it is trusted: whoever may write it may choose what the session computes, so that it
/// must be a RegularFile::OfCache.
class ContextFile {
 public:
  /// Throws Error saying what is wrong: no such file, foreign, of another format, truncated, damaged.
  /// `copy_to`: where it is copied; null: it is mapped. `on_copy`: hears how much the file stores once it is known to be
  /// the user's own, before it is copied.
  explicit ContextFile(const std::filesystem::path& path, Allocator* copy_to = nullptr,
                       const std::function<void(size_t)>& on_copy = {});

  /// Checked against its checksum.
  std::span<const std::byte> description() const noexcept { return description_; }
  /// Not checked yet.
  std::span<const std::byte> data() const noexcept { return data_; }
  const std::shared_ptr<const void>& owner() const noexcept { return owner_; }
  /// Bytes that the file takes on its device.
  size_t stored() const noexcept { return stored_; }
  /// Throws Error when a part of the data does not have its checksum.
  void CheckData(ThreadPool& threads) const;

 private:
  std::span<const std::byte> description_;
  std::span<const std::byte> data_;
  std::span<const std::byte> sums_;
  std::shared_ptr<const void> owner_;
  size_t stored_ = 0;
};

/// Lays bytes out for a context's data: where each begins, on a cache line or, when large, on a page.
class ContextLayout {
 public:
  uint64_t Add(const void* data, size_t bytes);
  uint64_t size() const noexcept { return size_; }

  struct Piece {
    const void* data;
    size_t bytes;
    uint64_t offset;
  };
  std::span<const Piece> pieces() const noexcept { return pieces_; }

 private:
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

/// Writes beside `path` and renames, so that readers and other writers see whole files only. Throws Error.
void WriteContextFile(const std::filesystem::path& path, const ContextLayout& data, std::span<const std::byte> description,
                      ThreadPool& threads, const LoadLimits& limits);

}  // namespace tessera
