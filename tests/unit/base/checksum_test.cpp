#include "base/checksum.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "runtime/threads/thread_pools.h"

namespace tessera {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

TEST(Checksum, IsXxh3) {
  EXPECT_EQ(Checksum({}), 0x2d06800538d394c2u);
  EXPECT_NE(Checksum(BytesOf("a")), Checksum(BytesOf("b")));
  EXPECT_NE(Checksum(BytesOf("a")), Checksum(BytesOf(std::string_view("a\0", 2))));
}

TEST(Checksum, PartsAreSummedEachByItself) {
  std::vector<std::byte> bytes(2 * kChecksumPart + 3);
  bytes[kChecksumPart] = std::byte{1};
  bytes.back() = std::byte{2};
  const auto threads = MakeWorkerPool(2);
  const auto all = std::span<const std::byte>(bytes);
  EXPECT_EQ(PartChecksums(all, *threads),
            (std::vector<uint64_t>{Checksum(all.first(kChecksumPart)), Checksum(all.subspan(kChecksumPart, kChecksumPart)),
                                   Checksum(all.last(3))}));
  EXPECT_TRUE(PartChecksums({}, *threads).empty());
}

}  // namespace
}  // namespace tessera
