#include "base/seeded_hash.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

TEST(SeededHash, TellsTextsApart) {
  std::set<uint64_t> hashes;
  size_t count = 0;
  const auto add = [&](std::string_view text) { hashes.insert(SeededHash(text)), ++count; };
  for (size_t size = 0; size < 200; ++size) {
    add(std::string(size, '\0'));  // lengths count, not only bytes
    if (size > 0) add(std::string(size, 'a'));
    for (size_t at = 0; at < size; ++at) {
      std::string text(size, '\0');
      text[at] = 'b';
      add(text);
    }
  }
  EXPECT_EQ(hashes.size(), count);
  EXPECT_EQ(SeededHash(std::string("the same text")), SeededHash(std::string_view("not the same text").substr(4)));
  EXPECT_NE(SeededHash("a", 1), SeededHash("a", 2));
}

TEST(SeededHash, SpreadsOverAFewBits) {
  constexpr uint64_t kBuckets = 256, kCount = 256 * 1000;
  std::vector<int> low(kBuckets), high(kBuckets);
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t hash = SeededHash(i << 32, 0);
    ++low[hash % kBuckets];
    ++high[hash >> 56];
  }
  for (uint64_t i = 0; i < kBuckets; ++i) {
    EXPECT_NEAR(low[i], 1000, 250);
    EXPECT_NEAR(high[i], 1000, 250);
  }
}

/// A multiple of a number of buckets would do with hashes that are the numbers themselves.
TEST(SeededHash, ContainersFindByViews) {
  StringMap<int> map;
  map["one"] = 1;
  EXPECT_EQ(map.find(std::string_view("one"))->second, 1);
  EXPECT_FALSE(StringViewSet({"one"}).contains("two"));
}

}  // namespace
}  // namespace tessera
