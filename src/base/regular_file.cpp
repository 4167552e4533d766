#include "base/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "tessera/error.h"

namespace tessera {
namespace {

[[noreturn]] void RefuseFile(const std::filesystem::path& path, const std::string& why) {
  throw Error(ErrorCode::kNoSuchFile, fmt::format("cannot open {}: {}", path.string(), why));
}

std::string TextOfErrno(int error) { return std::generic_category().message(error); }

/// Why what the file of a cache says may be another user's; empty when it is the process's own.
std::string WhyForeign(const struct stat& status) {
  if (status.st_uid != geteuid() && status.st_uid != 0) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "other users may write to it";
  return {};
}

}  // namespace

RegularFile::RegularFile(const std::filesystem::path& path, int more_flags) : path_(path) {
  if (path.native().find('\0') != std::string::npos) RefuseFile(path, "its name has a character 0");
  // A device may act on being opened, so the name is looked at first; the file that was opened is what counts.
  if (stat(path.c_str(), &status_) != 0) RefuseFile(path, TextOfErrno(errno));
  if (!S_ISREG(status_.st_mode)) RefuseFile(path, "it is not a regular file");
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more_flags);
  if (file_ < 0) RefuseFile(path, errno == ELOOP && (more_flags & O_NOFOLLOW) != 0 ? "it is a link" : TextOfErrno(errno));
  if (fstat(file_, &status_) != 0 || !S_ISREG(status_.st_mode)) {
    close(file_);
    RefuseFile(path, "it is not a regular file");
  }
}

RegularFile::RegularFile(const std::filesystem::path& path) : RegularFile(path, 0) {}

RegularFile RegularFile::OfCache(const std::filesystem::path& path) {
  RegularFile file(path, O_NOFOLLOW);
  if (const std::string why = WhyForeign(file.status_); !why.empty()) RefuseFile(path, why);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  struct stat holder{};
  if (stat(folder.c_str(), &holder) != 0) RefuseFile(folder, TextOfErrno(errno));
  if ((holder.st_mode & S_IWOTH) != 0 && (holder.st_mode & S_ISVTX) == 0)
    RefuseFile(path, "other users may replace it: all may write to its folder");
  return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : path_(other.path_), file_(std::exchange(other.file_, -1)), status_(other.status_) {}

RegularFile::~RegularFile() {
  if (file_ >= 0) close(file_);
}

size_t RegularFile::stored() const noexcept {
  constexpr size_t kBlock = 512;  // the unit of st_blocks, whatever the file system's is
  return std::min(size(), static_cast<size_t>(status_.st_blocks) * kBlock);
}

std::vector<std::byte> RegularFile::Read() const {
  std::vector<std::byte> bytes(size());
  for (size_t done = 0;;) {
    if (done == bytes.size()) bytes.resize(done + 4096);  // it may have grown; files of /proc say 0
    const ssize_t count = pread(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) RefuseFile(path_, TextOfErrno(errno));
    if (count == 0) {
      bytes.resize(done);
      return bytes;
    }
    done += static_cast<size_t>(count);
  }
}

void RegularFile::Read(std::span<std::byte> bytes, size_t offset) const {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = pread(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) RefuseFile(path_, TextOfErrno(errno));
    if (count == 0)
      RefuseFile(path_,
                 fmt::format("it ends after {} of {} bytes: somebody truncates it", offset + done, offset + bytes.size()));
    done += static_cast<size_t>(count);
  }
}

}  // namespace tessera
