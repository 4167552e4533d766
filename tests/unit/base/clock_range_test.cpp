// How long work may take: any number of milliseconds means what it says.

#include "base/clock_range.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "base/load_limits.h"
#include "base/stop_signal.h"

namespace tessera {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(InClockRange, LongTimesAreNotOver) {
  for (const int64_t long_time :
       {int64_t{1'000'000}, int64_t{9'000'000'000'000}, kMost / 1'000'000, kMost / 1'000'000 + 1, kMost})
    EXPECT_FALSE(StopSignal(nullptr, InClockRange(milliseconds(long_time))).requested()) << long_time;
  EXPECT_EQ(InClockRange(milliseconds(0)), milliseconds(0));
  EXPECT_EQ(InClockRange(milliseconds(1'000'000)), milliseconds(1'000'000));
}

TEST(LoadLimits, TellWhatIsLeft) {
  const auto left = [](int64_t timeout) {
    const auto budget = std::make_shared<MemoryBudget>("the limit of memory", 0);
    return LoadLimits(budget, nullptr, milliseconds(timeout)).time_left().count();
  };
  EXPECT_EQ(left(0), 0);
  EXPECT_EQ(left(-1), 0);
  EXPECT_EQ(left(std::numeric_limits<int64_t>::min()), 0);
  EXPECT_GT(left(kMost), int64_t{1'000'000'000'000});
}

}  // namespace
}  // namespace tessera
