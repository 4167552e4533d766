#include "runtime/plan/buffer_arranger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace tessera {
namespace {

struct Buffer {
  BufferLife life;
  size_t offset;
};

/// Best fit by looking at all buffers.
size_t BestFit(const BufferLife& life, const std::vector<Buffer>& placed) {
  std::vector<Buffer> meeting;
  std::copy_if(placed.begin(), placed.end(), std::back_inserter(meeting),
               [&](const Buffer& other) { return other.life.Meets(life); });
  std::sort(meeting.begin(), meeting.end(), [](const Buffer& a, const Buffer& b) { return a.offset < b.offset; });
  size_t end = 0, best = std::numeric_limits<size_t>::max(), offset = 0;
  for (const Buffer& other : meeting) {
    if (other.offset > end && other.offset - end >= life.bytes && other.offset - end < best) {
      best = other.offset - end;
      offset = end;
    }
    end = std::max(end, other.offset + other.life.bytes);
  }
  return best == std::numeric_limits<size_t>::max() ? end : offset;
}

TEST(BufferArranger, TakesTheSmallestGapThatIsFree) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    const int steps = 1 + static_cast<int>(random() % 60);
    const std::vector<bool> addressable = {true};
    BufferArranger arranger(static_cast<size_t>(steps), addressable);
    std::vector<Buffer> placed;
    size_t most = 0;
    for (int i = 0; i < 200; ++i) {
      const auto first = static_cast<int32_t>(random() % static_cast<unsigned>(steps));
      const auto last = first + static_cast<int32_t>(
                                    random() % static_cast<unsigned>(steps - first + 1));  // up to one behind the last step
      const BufferLife life{first, last, 64 * (1 + random() % 9)};
      const auto [block, offset] = arranger.Place(life, 0);
      EXPECT_EQ(block, 0);
      EXPECT_EQ(offset, BestFit(life, placed));
      placed.push_back({life, offset});
      most = std::max(most, offset + life.bytes);
    }
    ASSERT_EQ(arranger.blocks().size(), 1u);
    EXPECT_EQ(arranger.blocks()[0].bytes, most);
  }
}

TEST(BufferArranger, MemoryWithoutAddressesHasABlockForEachAtATime) {
  const std::vector<bool> addressable = {true, false};
  BufferArranger arranger(10, addressable);
  EXPECT_EQ(arranger.Place({0, 3, 100}, 1), std::pair(0, size_t{0}));
  EXPECT_EQ(arranger.Place({3, 5, 100}, 1), std::pair(1, size_t{0}));
  EXPECT_EQ(arranger.Place({4, 6, 50}, 1), std::pair(0, size_t{0}));
  EXPECT_EQ(arranger.Place({6, 6, 50}, 1), std::pair(1, size_t{0}));
  EXPECT_EQ(arranger.Place({0, 9, 10}, 1), std::pair(2, size_t{0}));
  EXPECT_EQ(arranger.Place({2, 2, 10}, 0), std::pair(3, size_t{0}));
  EXPECT_EQ(arranger.blocks().size(), 4u);
}

TEST(BufferArranger, ManyThatLiveAtOnceDoNotMeet) {
  constexpr int kCount = 30000;
  const std::vector<bool> addressable = {true};
  BufferArranger arranger(kCount, addressable);
  std::vector<size_t> offsets;
  for (int i = 0; i < kCount; ++i) offsets.push_back(arranger.Place({i % 7, kCount - i % 5, 64}, 0).second);
  std::sort(offsets.begin(), offsets.end());
  for (size_t i = 1; i < offsets.size(); ++i) ASSERT_GE(offsets[i], offsets[i - 1] + 64);
  EXPECT_EQ(arranger.blocks()[0].bytes, size_t{64} * kCount);
}

TEST(BufferArranger, ManyThatLiveOneAfterAnotherShareTheirPlace) {
  constexpr int kCount = 100000;
  const std::vector<bool> addressable = {true};
  BufferArranger arranger(kCount, addressable);
  for (int i = 0; i < kCount; ++i) arranger.Place({i, i + 1, 64}, 0);
  EXPECT_EQ(arranger.blocks()[0].bytes, size_t{128});
}

}  // namespace
}  // namespace tessera
