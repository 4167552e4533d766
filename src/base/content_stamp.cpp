#include "base/content_stamp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "base/mapped_file.h"
#include "base/pages.h"
#include "base/regular_file.h"
#include "tessera/error.h"

namespace tessera {
namespace {

/// The checksums of parts of an open file.
class PartSums {
 public:
  explicit PartSums(const RegularFile& file) : file_(file) {}

  void Add(size_t offset, size_t bytes) {
    for (const size_t end = offset + bytes; offset < end; offset += kChecksumPart) {
      buffer_.resize(std::min(kChecksumPart, end - offset));
      file_.Read(buffer_, offset);
      sums_.push_back(Checksum(buffer_));
    }
  }

  uint64_t Total() const { return Checksum(std::as_bytes(std::span(sums_))); }

 private:
  const RegularFile& file_;
  std::vector<std::byte> buffer_;
  std::vector<uint64_t> sums_;
};

uint64_t ChecksumOf(const RegularFile& file, const Sampling& sampling) {
  PartSums sums(file);
  const size_t size = file.size();
  if (size <= sampling.whole) {
    sums.Add(0, size);
    return sums.Total();
  }
  const size_t edge = std::min(sampling.edge, size / 2), between = size - 2 * edge;
  sums.Add(0, edge);
  for (size_t i = 0; i < sampling.samples; ++i) {
    const size_t offset = edge + between / sampling.samples * i;
    sums.Add(offset, std::min(kPage, size - offset));
  }
  sums.Add(size - edge, edge);
  return sums.Total();
}

}  // namespace

std::string ContentStamp(const std::filesystem::path& file, const Sampling& sampling) {
  const std::string stamp = FileStamp(file);
  if (stamp.empty()) return stamp;
  try {
    return fmt::format("{} with checksum {:x}", stamp, ChecksumOf(RegularFile(file), sampling));
  } catch (const Error&) {  // whoever reads the file says so
    return stamp;
  }
}

}  // namespace tessera
