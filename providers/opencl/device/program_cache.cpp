#include "opencl/device/program_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/checksum.h"
#include "base/new_file.h"
#include "base/regular_file.h"
#include "tessera/error.h"

namespace tessera::opencl {
namespace {

constexpr std::array<char, 8> kMagic = {'T', 'S', 'R', 'C', 'L', 'P', '0', '2'};

/// Far more than a device's program takes: a file that claims more is none of a cache.
constexpr uint64_t kMostBinaryBytes = uint64_t{1} << 30;

/// What a file starts with; key and binary follow.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint64_t key_bytes = 0;
  uint64_t binary_bytes = 0;
  uint64_t checksum = 0;  // of the binary
};

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

}  // namespace

std::filesystem::path ProgramCache::Path(std::string_view key) const {
  return folder_ / fmt::format("{:016x}.clbin", Checksum(BytesOf(key)));
}

std::optional<std::vector<std::byte>> ProgramCache::Load(std::string_view key) const try {
  if (!enabled()) return std::nullopt;
  const RegularFile file = RegularFile::OfCache(Path(key));
  Header header;
  file.Read(std::as_writable_bytes(std::span(&header, 1)));
  if (header.magic != kMagic || header.key_bytes != key.size() || header.binary_bytes > kMostBinaryBytes ||
      file.size() != sizeof header + key.size() + header.binary_bytes)
    return std::nullopt;
  std::vector<std::byte> bytes(file.size());
  file.Read(bytes);
  const auto rest = std::span<const std::byte>(bytes).subspan(sizeof header);
  if (!std::ranges::equal(rest.first(key.size()), BytesOf(key))) return std::nullopt;
  const auto binary = rest.subspan(key.size());
  if (binary.empty() || Checksum(binary) != header.checksum) return std::nullopt;
  return std::vector<std::byte>(binary.begin(), binary.end());
} catch (const Error&) {
  return std::nullopt;  // none there, or one that others may have written
} catch (const std::bad_alloc&) {
  return std::nullopt;  // its program is compiled again, by less memory
}

void ProgramCache::Store(std::string_view key, std::span<const std::byte> binary) const try {
  if (!enabled() || binary.size() > kMostBinaryBytes) return;
  MakePrivateFolders(folder_);
  const std::filesystem::path path = Path(key);
  RemoveAbandonedFiles(path);
  // Another process must see the whole file or none: it is written aside, then renamed.
  NewFile file(path);
  const Header header{.key_bytes = key.size(), .binary_bytes = binary.size(), .checksum = Checksum(binary)};
  file.WriteAt(0, &header, sizeof header);
  file.WriteAt(sizeof header, key.data(), key.size());
  file.WriteAt(sizeof header + key.size(), binary.data(), binary.size());
  file.Publish();
} catch (const Error&) {
  // What cannot be kept is compiled again.
}

}  // namespace tessera::opencl
