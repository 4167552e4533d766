#include "runtime/memory/arena.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>
#include <thread>

#include "tessera/error.h"

namespace tessera {
namespace {

/// Counts live bytes; hands out whole handles when told so.
class RawMemory final : public Allocator {
 public:
  explicit RawMemory(bool addressable = true) : addressable_(addressable) {}
  ~RawMemory() override { EXPECT_EQ(live, 0) << "the arena kept memory"; }
  const MemoryInfo& memory() const noexcept override { return memory_; }
  bool addressable() const noexcept override { return addressable_; }
  void* Allocate(size_t bytes) override {
    live += static_cast<int64_t>(bytes);
    ++calls;
    void* buffer = HostAllocator().Allocate(bytes);
    sizes_[buffer] = bytes;
    return buffer;
  }
  void Free(void* buffer) noexcept override {
    live -= static_cast<int64_t>(sizes_[buffer]);
    sizes_.erase(buffer);
    HostAllocator().Free(buffer);
  }
  int64_t live = 0;
  int calls = 0;

 private:
  const bool addressable_;
  MemoryInfo memory_;
  std::map<void*, size_t> sizes_;
};

TEST(Arena, ReusesAndMerges) {
  auto raw = std::make_shared<RawMemory>();
  auto arena = Arena::Make(raw, {});
  void* a = arena->Allocate(1000);
  void* b = arena->Allocate(1000);
  void* c = arena->Allocate(1000);
  EXPECT_EQ(raw->calls, 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % kHostAlignment, 0u);
  arena->Free(a);
  arena->Free(b);
  EXPECT_EQ(arena->Allocate(2000), a);  // both together
  arena->Free(a);
  arena->Free(c);
  EXPECT_EQ(arena->stats().bytes_in_use, 0);
  EXPECT_GT(arena->stats().bytes_reserved, 0);
  arena->Shrink();
  EXPECT_EQ(arena->stats().bytes_reserved, 0);
  EXPECT_EQ(raw->live, 0);
}

TEST(Arena, TakesTheBestFit) {
  auto arena = Arena::Make(std::make_shared<RawMemory>(), {});
  void* large = arena->Allocate(4096);
  void* wall1 = arena->Allocate(64);
  void* small = arena->Allocate(512);
  void* wall2 = arena->Allocate(64);
  arena->Free(large);
  arena->Free(small);
  EXPECT_EQ(arena->Allocate(500), small);
  for (void* buffer : {small, wall1, wall2}) arena->Free(buffer);
}

TEST(Arena, ExtendsAsAsked) {
  auto raw = std::make_shared<RawMemory>();
  auto arena = Arena::Make(raw, {.extend = ArenaExtend::kSameAsRequested});
  arena->Free(arena->Allocate(100));
  EXPECT_EQ(arena->stats().bytes_reserved, 128);
  auto doubling = Arena::Make(raw, {});
  doubling->Free(doubling->Allocate(3 << 20));
  EXPECT_EQ(doubling->stats().bytes_reserved, 4 << 20);
}

TEST(Arena, GivesBackWhatIsTooSmallWhenItGrows) {
  auto arena = Arena::Make(std::make_shared<RawMemory>(), {.extend = ArenaExtend::kSameAsRequested});
  void* a = arena->Allocate(4096);
  void* b = arena->Allocate(8192);
  void* held = arena->Allocate(1024);
  arena->Free(a);
  arena->Free(b);
  void* c = arena->Allocate(12288);  // neither a's nor b's region has room
  EXPECT_EQ(arena->stats().bytes_reserved, 1024 + 12288);
  arena->Free(c);
  EXPECT_EQ(arena->Allocate(4096), c);  // and nothing goes back while there is room
  EXPECT_EQ(arena->stats().bytes_reserved, 1024 + 12288);
  arena->Free(c);
  arena->Free(held);
}

TEST(Arena, RefusesOverTheLimitAndGoesOn) {
  auto arena = Arena::Make(std::make_shared<RawMemory>(), {.limit = 1 << 20, .limit_name = "gpu_mem_limit"});
  void* a = arena->Allocate(512 << 10);
  try {
    arena->Allocate(1 << 20);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "gpu_mem_limit exceeded: 1048576 bytes of Cpu memory were asked for, 524288 of 1048576 bytes are in use; "
                 "raise the limit, or use smaller inputs");
  }
  arena->Free(a);
  void* b = arena->Allocate(1 << 20);  // what is free goes back first
  arena->Free(b);
  EXPECT_EQ(*arena->stats().limit, 1 << 20);
}

TEST(Arena, DoesNotCutHandles) {
  auto raw = std::make_shared<RawMemory>(false);
  auto arena = Arena::Make(raw, {});
  void* a = arena->Allocate(1000);
  void* b = arena->Allocate(1000);
  EXPECT_EQ(raw->calls, 2);
  arena->Free(a);
  EXPECT_EQ(arena->Allocate(900), a);
  arena->Free(a);
  void* small = arena->Allocate(64);  // would waste most of a
  EXPECT_NE(small, a);
  arena->Free(small);
  arena->Free(b);
}

TEST(Arena, LivesAsLongAsItsBuffers) {
  auto raw = std::make_shared<RawMemory>();
  auto arena = Arena::Make(raw, {});
  Allocator* pointer = arena.get();
  void* buffer = arena->Allocate(100);
  arena.reset();
  std::memset(buffer, 1, 100);
  EXPECT_GT(raw->live, 0);
  pointer->Free(buffer);
  EXPECT_EQ(raw->live, 0);
}

TEST(Arena, SurvivesRandomUseFromManyThreads) {
  auto arena = Arena::Make(std::make_shared<RawMemory>(), {});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<std::pair<unsigned char*, size_t>> held;
      for (int i = 0; i < 2000; ++i) {
        if (held.size() < 20 || random() % 2 == 0) {
          const size_t size = 1 + random() % 5000;
          auto* buffer = static_cast<unsigned char*>(arena->Allocate(size));
          std::memset(buffer, static_cast<int>(t + 1), size);
          held.emplace_back(buffer, size);
        } else {
          const size_t pick = random() % held.size();
          for (size_t k = 0; k < held[pick].second; ++k) ASSERT_EQ(held[pick].first[k], t + 1);
          arena->Free(held[pick].first);
          held.erase(held.begin() + static_cast<std::ptrdiff_t>(pick));
        }
      }
      for (const auto& [buffer, size] : held) arena->Free(buffer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena->stats().bytes_in_use, 0);
}

}  // namespace
}  // namespace tessera
