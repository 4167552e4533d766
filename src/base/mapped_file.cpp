#include "base/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "base/bytes_owner.h"
#include "base/check.h"
#include "base/fork.h"
#include "base/regular_file.h"

namespace tessera {
namespace {

/// Tells a file and what was in it.
using FileKey = std::tuple<dev_t, ino_t, off_t, time_t, long>;

/// Mappings that someone holds: sessions of one model share its weights, and what is made from them.
struct Mappings {
  ForkMutex mutex;
  std::map<FileKey, std::weak_ptr<const void>> live;
  struct Place {
    size_t size;
    std::filesystem::path file;
    FileKey key;
    std::weak_ptr<const void> owner = {};
  };
  using Places = std::map<const std::byte*, Place>;
  Places places;  // where they are; erased before they go

  /// The mapping that holds all of these bytes, or the end.
  Places::const_iterator Find(const void* data, size_t bytes) const noexcept {
    const auto* begin = static_cast<const std::byte*>(data);
    auto place = places.upper_bound(begin);
    if (place == places.begin()) return places.end();
    --place;
    const bool holds = bytes <= place->second.size && begin <= place->first + (place->second.size - bytes);
    return holds ? place : places.end();
  }
};

Mappings& ProcessMappings() {
  static Mappings& mappings = *new Mappings;  // outlives every session, also static ones
  return mappings;
}

}  // namespace

MappedFile MapFile(const std::filesystem::path& path) { return MapFile(path, RegularFile(path)); }

MappedFile MapFile(const std::filesystem::path& path, const RegularFile& file) {
  const struct stat& status = file.status();
  const size_t size = file.size();
  if (size == 0) return {};
  Mappings& mappings = ProcessMappings();
  const std::lock_guard lock(mappings.mutex);
  const FileKey key = {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  const auto known = mappings.live.find(key);
  std::shared_ptr<const void> owner = known == mappings.live.end() ? nullptr : known->second.lock();
  if (owner == nullptr) {
    void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (address == MAP_FAILED) Fail(ErrorCode::kNoSuchFile, "cannot map {}: {}", path.string(), std::strerror(errno));
    const auto* place = static_cast<const std::byte*>(address);
    mappings.places.emplace(place, Mappings::Place{size, std::filesystem::absolute(path), key});
    owner = std::shared_ptr<const void>(address, [size, place](const void* mapped) {
      {
        Mappings& all = ProcessMappings();
        const std::lock_guard forget(all.mutex);
        const auto gone = all.places.find(place);
        // The file may have been mapped anew since the last one let go.
        const auto entry = all.live.find(gone->second.key);
        if (entry != all.live.end() && entry->second.expired()) all.live.erase(entry);
        all.places.erase(gone);
      }
      munmap(const_cast<void*>(mapped), size);
    });
    mappings.live[key] = owner;
    mappings.places.at(place).owner = owner;
  }
  const auto* bytes = static_cast<const std::byte*>(owner.get());
  return {{bytes, size}, std::move(owner), file.stored()};
}

MappedFile CopyFile(const RegularFile& file, Allocator& memory) {
  const size_t size = file.size();
  if (size == 0) return {};
  auto* bytes = static_cast<std::byte*>(memory.Allocate(size));
  std::shared_ptr<const void> owner(bytes, [&memory](const void* copied) { memory.Free(const_cast<void*>(copied)); });
  file.Read(std::span(bytes, size));
  return {{bytes, size}, std::move(owner), size};
}

std::string FileStamp(const std::filesystem::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0) return {};
  return fmt::format("{} bytes of {}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

std::optional<FilePlace> FindInFiles(const void* data, size_t bytes) {
  Mappings& mappings = ProcessMappings();
  const std::lock_guard lock(mappings.mutex);
  const auto place = mappings.Find(data, bytes);
  if (place == mappings.places.end()) return std::nullopt;
  return FilePlace{place->second.file, static_cast<size_t>(static_cast<const std::byte*>(data) - place->first)};
}

std::shared_ptr<const void> OwnerOfBytes(const Tensor& constant) {
  if (constant.owner() == nullptr) return nullptr;
  std::shared_ptr<const void> mapping;
  {
    Mappings& mappings = ProcessMappings();
    const std::lock_guard lock(mappings.mutex);
    const auto place = mappings.Find(constant.unaligned_raw(), constant.byte_size());
    if (place != mappings.places.end()) mapping = place->second.owner.lock();
  }
  return mapping != nullptr ? mapping : constant.owner();
}

void ForgetPages(const void* data, size_t bytes) noexcept {
  constexpr uintptr_t kPage = 4096;
  Mappings& mappings = ProcessMappings();
  const std::lock_guard lock(mappings.mutex);
  const auto place = mappings.Find(data, bytes);
  if (place == mappings.places.end()) return;
  // Whole pages, also where they hold something else: nobody can have written to them, so they come back from the file.
  const auto begin = reinterpret_cast<uintptr_t>(data), first = begin / kPage * kPage;
  const auto last = std::min(begin + bytes, reinterpret_cast<uintptr_t>(place->first) + place->second.size);
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace tessera
