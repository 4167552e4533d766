#include "session/context/context_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "base/mapped_file.h"
#include "base/pages.h"
#include "base/rounding.h"
#include "session/context/checksum.h"

namespace tessera {
namespace {

constexpr std::array<char, 8> kMagic = {'T', 'S', 'R', 'C', 'T', 'X', '\r', '\n'};
constexpr uint32_t kFormat = 3;
constexpr uint64_t kDataOffset = 4096;
constexpr std::string_view kRandom = "XXXXXX", kTemporary = ".tmp";  // of temporary files' names

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

void CheckOwner(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) Fail(ErrorCode::kNoSuchFile, "there is none yet");
  if (!S_ISREG(status.st_mode)) Refuse("it is not a regular file");
  if (status.st_uid != geteuid() && status.st_uid != 0) Refuse("it belongs to another user");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) Refuse("other users may write to it");
}

/// Files that writers of `target` left behind: one that was killed could not remove its own.
void RemoveAbandoned(const std::filesystem::path& target) {
  namespace fs = std::filesystem;
  constexpr auto kLongest = std::chrono::hours(1);  // that a writer may take
  const std::string begin = target.filename().string() + ".";
  std::error_code error;
  for (fs::directory_iterator entry(target.has_parent_path() ? target.parent_path() : fs::path("."), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(kTemporary) || name.size() != begin.size() + kRandom.size() + kTemporary.size()) continue;
    std::error_code gone;
    const fs::file_time_type written = entry->last_write_time(gone);
    if (!gone && fs::file_time_type::clock::now() - written > kLongest) fs::remove(entry->path(), gone);
  }
}

/// A new file that takes the place of `target`, or is removed.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::filesystem::path target) : target_(std::move(target)) {
    std::string name = fmt::format("{}.{}{}", target_.string(), kRandom, kTemporary);
    file_ = mkostemps(name.data(), static_cast<int>(kTemporary.size()), O_CLOEXEC);
    Check(file_ >= 0 && fchmod(file_, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) == 0);
    path_ = name;
  }
  ~TemporaryFile() {
    if (file_ >= 0) close(file_);
    if (!path_.empty()) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void WriteAt(uint64_t offset, const void* data, size_t bytes) {
    const auto* from = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t written = pwrite(file_, from, bytes, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      Check(written > 0);
      from += written;
      offset += static_cast<uint64_t>(written);
      bytes -= static_cast<size_t>(written);
    }
  }
  void Resize(uint64_t bytes) { Check(ftruncate(file_, static_cast<off_t>(bytes)) == 0); }
  void Publish() {
    Check(rename(path_.c_str(), target_.c_str()) == 0);
    path_.clear();
  }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void Check(bool good) const {
    if (!good) Fail(ErrorCode::kFail, "cannot write {}: {}", target_.string(), std::strerror(errno));
  }

  const std::filesystem::path target_;
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace

ContextFile::ContextFile(const std::filesystem::path& path) {
  CheckOwner(path);
  const MappedFile file = MapFile(path);
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
  if (Checksum(description_) != header.description_checksum || Checksum(sums_) != header.sums_checksum) Refuse("its description is damaged");
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
                      ThreadPool& threads) {
  RemoveAbandoned(path);
  TemporaryFile file(path);
  Header header;
  header.data_size = data.size();
  header.sums_offset = RoundUp(kDataOffset + data.size(), 8);
  const uint64_t num_sums = RoundUp(data.size(), kChecksumPart) / kChecksumPart;
  header.description_offset = header.sums_offset + num_sums * sizeof(uint64_t);
  header.description_size = description.size();
  header.description_checksum = Checksum(description);
  header.file_size = header.description_offset + description.size();
  file.Resize(header.file_size);
  for (const ContextLayout::Piece& piece : data.pieces()) file.WriteAt(kDataOffset + piece.offset, piece.data, piece.bytes);
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
