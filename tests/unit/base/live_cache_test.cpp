#include "base/live_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/cancellation.h"
#include "tessera/error.h"

namespace tessera {
namespace {

using Cache = LiveCache<std::string>;

TEST(LiveCache, MakesAValueOnceWhileItLives) {
  Cache& cache = *new Cache;
  int made = 0;
  const auto make = [&] { return std::make_shared<const int>(++made); };
  Cache::Value first = cache.GetOrMake("a", nullptr, make);
  EXPECT_EQ(cache.GetOrMake("a", nullptr, make), first);
  EXPECT_NE(cache.GetOrMake("b", nullptr, make), first);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(cache.entries(), 1u) << "b went with its last user";
  first.reset();
  EXPECT_EQ(cache.entries(), 0u);
  cache.GetOrMake("a", nullptr, make);
  EXPECT_EQ(made, 3);
}

TEST(LiveCache, MakesAnewForAnotherOwner) {
  Cache& cache = *new Cache;
  int made = 0;
  const auto make = [&] { return std::make_shared<const int>(++made); };
  const auto owner = std::make_shared<int>(0), other = std::make_shared<int>(0);
  const Cache::Value first = cache.GetOrMake("a", owner, make);
  EXPECT_EQ(cache.GetOrMake("a", owner, make), first);
  EXPECT_NE(cache.GetOrMake("a", other, make), first);
  EXPECT_EQ(made, 2);
}

TEST(LiveCache, KeepsNoEntryOfAValueThatFails) {
  Cache& cache = *new Cache;
  EXPECT_THROW(cache.GetOrMake("a", nullptr, []() -> Cache::Value { throw std::runtime_error("none"); }),
               std::runtime_error);
  EXPECT_EQ(cache.GetOrMake("a", nullptr, [] { return Cache::Value(); }), nullptr);
  EXPECT_EQ(cache.entries(), 0u);
}

TEST(LiveCache, WaitsUntilItIsCancelled) {
  Cache& cache = *new Cache;
  std::promise<void> making, make_on;
  std::thread other([&] {
    cache.GetOrMake("a", nullptr, [&]() -> Cache::Value {
      making.set_value();
      make_on.get_future().wait();
      return nullptr;
    });
  });
  making.get_future().wait();
  {
    const StopSignal stop(nullptr, std::chrono::milliseconds(20));
    const CancelScope scope(&stop);
    EXPECT_THROW(cache.GetOrMake("a", nullptr, [] { return Cache::Value(); }), Error);
  }
  EXPECT_EQ(cache.entries(), 1u) << "the other one is at work";
  make_on.set_value();
  other.join();
  EXPECT_EQ(cache.entries(), 0u);
}

}  // namespace
}  // namespace tessera
