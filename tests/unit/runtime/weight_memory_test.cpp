#include "base/weight_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/stagger.h"
#include "tessera/error.h"
#include "tessera/value.h"

namespace tessera {
namespace {

struct Buffer {
  std::byte* data;
  size_t size;
  uint8_t mark;
};

bool HoldsMark(const Buffer& buffer) {
  for (size_t i = 0; i < buffer.size; ++i) {
    if (buffer.data[i] != std::byte{buffer.mark}) return false;
  }
  return true;
}

/// Takes and frees buffers of all sizes in any order: none overlaps another, and each keeps what was written to it.
void Churn(unsigned seed) {
  std::mt19937 random(seed);
  constexpr size_t kSizes[] = {0, 1, 63, 64, 4096, 5000, 70'000, kStaggerFrom, 1'000'000, 3 << 20, 9 << 20, 70 << 20};
  std::vector<Buffer> live;
  for (int i = 0; i < 300; ++i) {
    const size_t pick = random() % (i % 50 == 0 ? std::size(kSizes) : std::size(kSizes) - 3);
    Buffer buffer{static_cast<std::byte*>(WeightMemory().Allocate(kSizes[pick])), kSizes[pick],
                  static_cast<uint8_t>(random())};
    ASSERT_EQ(reinterpret_cast<uintptr_t>(buffer.data) % kHostAlignment, 0u);
    if (buffer.size > 0) std::memset(buffer.data, buffer.mark, buffer.size);
    live.push_back(buffer);
    while (live.size() > 20) {
      const size_t at = random() % live.size();
      ASSERT_TRUE(HoldsMark(live[at]));
      WeightMemory().Free(live[at].data);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (const Buffer& buffer : live) {
    EXPECT_TRUE(HoldsMark(buffer));
    WeightMemory().Free(buffer.data);
  }
}

TEST(WeightMemory, BuffersAreApart) { Churn(1); }

TEST(WeightMemory, ThreadsShareIt) {
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(Churn, i);
}

TEST(WeightMemory, LargeBuffersBeginAtOtherPlacesInAPage) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 4; ++i) tensors.emplace_back(ElementType::kFloat, Shape{256, 1024}, WeightMemory());
  const auto place = [](const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.raw()) % 4096; };
  for (size_t i = 1; i < tensors.size(); ++i) EXPECT_NE(place(tensors[i]), place(tensors[i - 1]));
}

TEST(WeightMemory, TooMuchIsAnError) {
  EXPECT_THROW(WeightMemory().Allocate(SIZE_MAX), Error);
  EXPECT_THROW(WeightMemory().Allocate(SIZE_MAX / 4), Error);
  const Tensor small(ElementType::kFloat, Shape{4}, WeightMemory());
  EXPECT_NE(small.raw(), nullptr);
}

}  // namespace
}  // namespace tessera
