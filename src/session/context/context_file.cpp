#include "session/context/context_file.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "base/checksum.h"
#include "base/load_limits.h"
#include "base/mapped_file.h"
#include "base/new_file.h"
#include "base/pages.h"
#include "base/regular_file.h"
#include "base/rounding.h"

namespace tessera {
namespace {

constexpr std::array<char, 8> kMagic = {'T', 'S', 'R', 'C', 'T', 'X', '\r', '\n'};
constexpr uint32_t kFormat = 6;
constexpr uint64_t kDataOffset = 4096;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t format = kFormat;
  uint32_t reserved = 0;
  uint64_t file_size = 0;
  uint64_t data_size = 0;
  uint64_t sums_offset = 0;  // of the data's parts; as many as it has
  uint64_t sums_checksum = 0;
  uint64_t description_offset = 0;
  uint64_t description_size = 0;
  uint64_t description_checksum = 0;
  uint64_t checksum = 0;  // of what stands before it
};

uint64_t ChecksumOf(const Header& header) {
  return Checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum)));
}

template <class... Args>
[[noreturn]] void Refuse(fmt::format_string<Args...> format, Args&&... args) {
  Fail(ErrorCode::kInvalidProtobuf, format, std::forward<Args>(args)...);
}

}  // namespace

ContextFile::ContextFile(const std::filesystem::path& path, Allocator* copy_to,
                         const std::function<void(size_t)>& on_copy) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error)))
    Fail(ErrorCode::kNoSuchFile, "there is none yet");
  const RegularFile opened = RegularFile::OfCache(path);
  stored_ = opened.stored();
  if (copy_to != nullptr && on_copy) on_copy(stored_);
  const MappedFile file = copy_to == nullptr ? MapFile(path, opened) : CopyFile(opened, *copy_to);
  Header header;
  if (file.bytes.size() < sizeof(header)) Refuse("it is too short for a context");
  std::memcpy(static_cast<void*>(&header), file.bytes.data(), sizeof(header));
  if (header.magic != kMagic) Refuse("it is no context of Tessera");
  if (header.format != kFormat) Refuse("it has format {}, this build reads {}", header.format, kFormat);
  if (header.checksum != ChecksumOf(header)) Refuse("its header is damaged");
  if (header.file_size != file.bytes.size()) Refuse("it is truncated: {} of {} bytes", file.bytes.size(), header.file_size);
  const auto part = [&](uint64_t offset, uint64_t bytes) {
    if (offset > file.bytes.size() || bytes > file.bytes.size() - offset) Refuse("its header is damaged");
    return file.bytes.subspan(offset, bytes);
  };
  data_ = part(kDataOffset, header.data_size);
  sums_ = part(header.sums_offset, RoundUp(header.data_size, kChecksumPart) / kChecksumPart * sizeof(uint64_t));
  description_ = part(header.description_offset, header.description_size);
  if (Checksum(description_) != header.description_checksum || Checksum(sums_) != header.sums_checksum)
    Refuse("its description is damaged");
  owner_ = file.owner;
}

void ContextFile::CheckData(ThreadPool& threads) const {
  const std::vector<uint64_t> sums = PartChecksums(data_, threads);
  if (!sums.empty() && std::memcmp(sums.data(), sums_.data(), sums_.size()) != 0) Refuse("its data is damaged");
}

uint64_t ContextLayout::Add(const void* data, size_t bytes) {
  constexpr size_t kLine = 64, kLarge = 16 * kPage;
  const uint64_t offset = RoundUp(size_, bytes >= kLarge ? kPage : kLine);
  pieces_.push_back({data, bytes, offset});
  size_ = offset + bytes;
  return offset;
}

void WriteContextFile(const std::filesystem::path& path, const ContextLayout& data, std::span<const std::byte> description,
                      ThreadPool& threads, const LoadLimits& limits) {
  RemoveAbandonedFiles(path);
  NewFile file(path);
  Header header;
  header.data_size = data.size();
  header.sums_offset = RoundUp(kDataOffset + data.size(), 8);
  const uint64_t num_sums = RoundUp(data.size(), kChecksumPart) / kChecksumPart;
  header.description_offset = header.sums_offset + num_sums * sizeof(uint64_t);
  header.description_size = description.size();
  header.description_checksum = Checksum(description);
  header.file_size = header.description_offset + description.size();
  file.Resize(header.file_size);
  for (const ContextLayout::Piece& piece : data.pieces()) {
    constexpr size_t kAtOnce = size_t{4} << 20;  // a disk takes it in a few milliseconds
    for (size_t at = 0; at < piece.bytes; at += kAtOnce) {
      limits.Check();
      file.WriteAt(kDataOffset + piece.offset + at, static_cast<const std::byte*>(piece.data) + at,
                   std::min(kAtOnce, piece.bytes - at));
    }
  }
  {
    const MappedFile written = MapFile(file.path());
    const std::vector<uint64_t> sums = PartChecksums(written.bytes.subspan(kDataOffset, data.size()), threads);
    header.sums_checksum = Checksum(std::as_bytes(std::span(sums)));
    file.WriteAt(header.sums_offset, sums.data(), sums.size() * sizeof(uint64_t));
  }
  file.WriteAt(header.description_offset, description.data(), description.size());
  header.checksum = ChecksumOf(header);
  file.WriteAt(0, &header, sizeof(header));
  file.Publish();
}

}  // namespace tessera
