#include "base/checksum.h"

#include <xxhash.h>

#include <algorithm>

#include "base/rounding.h"
#include "tessera/provider/thread_pool.h"

namespace tessera {

uint64_t Checksum(std::span<const std::byte> bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

std::vector<uint64_t> PartChecksums(std::span<const std::byte> bytes, ThreadPool& threads) {
  std::vector<uint64_t> sums(CeilDiv(bytes.size(), kChecksumPart));
  constexpr double kNanoseconds = 100e3;  // a part, page faults included
  threads.ParallelFor(static_cast<int64_t>(sums.size()), kNanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto rest = bytes.subspan(static_cast<size_t>(i) * kChecksumPart);
      sums[static_cast<size_t>(i)] = Checksum(rest.first(std::min(kChecksumPart, rest.size())));
    }
  });
  return sums;
}

}  // namespace tessera
