#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace tessera {

MappedFile MapFile(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) Fail(ErrorCode::kNoSuchFile, "cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    Fail(ErrorCode::kNoSuchFile, "{} is not a regular file", path.string());
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    close(file);
    return {};
  }
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  close(file);
  if (address == MAP_FAILED) Fail(ErrorCode::kNoSuchFile, "cannot map {}: {}", path.string(), std::strerror(error));
  return {{static_cast<const std::byte*>(address), size},
          std::shared_ptr<const void>(address, [size](const void* held) { munmap(const_cast<void*>(held), size); })};
}

}  // namespace tessera
