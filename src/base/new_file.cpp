#include "base/new_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace tessera {
namespace {

constexpr std::string_view kRandomPart = "XXXXXX", kNewSuffix = ".tmp";  // of new files' names

}  // namespace

NewFile::NewFile(std::filesystem::path target) : target_(std::move(target)) {
  std::string name = fmt::format("{}.{}{}", target_.string(), kRandomPart, kNewSuffix);
  file_ = mkostemps(name.data(), static_cast<int>(kNewSuffix.size()), O_CLOEXEC);  // O_EXCL, mode 0600
  Check(file_ >= 0);
  path_ = name;
}

NewFile::~NewFile() {
  if (file_ >= 0) close(file_);
  if (!path_.empty()) unlink(path_.c_str());
}

void NewFile::WriteAt(uint64_t offset, const void* data, size_t bytes) {
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

void NewFile::Resize(uint64_t bytes) { Check(ftruncate(file_, static_cast<off_t>(bytes)) == 0); }

void NewFile::Publish() {
  Check(rename(path_.c_str(), target_.c_str()) == 0);
  path_.clear();
}

void NewFile::Check(bool good) const {
  if (!good) Fail(ErrorCode::kFail, "cannot write {}: {}", target_.string(), std::strerror(errno));
}

void RemoveAbandonedFiles(const std::filesystem::path& target) {
  namespace fs = std::filesystem;
  constexpr auto kLongest = std::chrono::hours(1);  // that a writer may take
  const std::string begin = target.filename().string() + ".";
  std::error_code error;
  for (fs::directory_iterator entry(target.has_parent_path() ? target.parent_path() : fs::path("."), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(kNewSuffix) ||
        name.size() != begin.size() + kRandomPart.size() + kNewSuffix.size()) {
      continue;
    }
    std::error_code gone;
    const fs::file_time_type written = entry->last_write_time(gone);
    if (!gone && fs::file_time_type::clock::now() - written > kLongest) fs::remove(entry->path(), gone);
  }
}

void MakePrivateFolders(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return;
  MakePrivateFolders(folder.parent_path());
  if (folder.has_filename() && mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    Fail(ErrorCode::kFail, "cannot make folder {}: {}", folder.string(), std::strerror(errno));
  }
}

}  // namespace tessera
