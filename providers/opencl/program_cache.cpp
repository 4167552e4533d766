#include "program_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

namespace tessera::opencl {
namespace {

constexpr std::array<char, 8> kMagic = {'T', 'S', 'R', 'C', 'L', 'P', '0', '1'};

/// What a file starts with; key and binary follow.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint64_t key_bytes = 0;
  uint64_t binary_bytes = 0;
  uint64_t checksum = 0;  // of the binary
};

/// FNV-1a.
uint64_t Hash(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

}  // namespace

std::filesystem::path ProgramCache::Path(std::string_view key) const { return folder_ / fmt::format("{:016x}.clbin", Hash(BytesOf(key))); }

std::optional<std::vector<std::byte>> ProgramCache::Load(std::string_view key) const {
  if (!enabled()) return std::nullopt;
  std::ifstream file(Path(key), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Header header;
  if (text.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, text.data(), sizeof header);
  const std::string_view rest = std::string_view(text).substr(sizeof header);
  if (header.magic != kMagic || header.key_bytes != key.size() || rest.size() < key.size() || rest.substr(0, key.size()) != key) {
    return std::nullopt;
  }
  const auto binary = BytesOf(rest.substr(key.size()));
  if (binary.size() != header.binary_bytes || binary.empty() || Hash(binary) != header.checksum) return std::nullopt;
  return std::vector<std::byte>(binary.begin(), binary.end());
}

void ProgramCache::Store(std::string_view key, std::span<const std::byte> binary) const {
  if (!enabled()) return;
  // Another process must see the whole file or none: it is written aside, then renamed.
  static std::atomic<int> count = 0;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const std::filesystem::path path = Path(key);
  const std::filesystem::path aside = path.string() + fmt::format(".{}.{}", getpid(), count++);
  const Header header{.key_bytes = key.size(), .binary_bytes = binary.size(), .checksum = Hash(binary)};
  bool written = false;
  {
    std::ofstream file(aside, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(key.data(), static_cast<std::streamsize>(key.size()));
    file.write(reinterpret_cast<const char*>(binary.data()), static_cast<std::streamsize>(binary.size()));
    file.close();
    written = !file.fail();
  }
  if (written) std::filesystem::rename(aside, path, error);
  if (!written || error) std::filesystem::remove(aside, error);
}

}  // namespace tessera::opencl
