// How long work may take: any number of milliseconds means what it says.

#include "base/stop_signal.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "base/load_limits.h"

namespace tessera {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(StopSignal, ComesAfterItsTime) {
  EXPECT_FALSE(StopSignal().requested());
  EXPECT_FALSE(StopSignal(nullptr, milliseconds(0)).requested());
  for (const int64_t long_time :
       {int64_t{1'000'000}, int64_t{9'000'000'000'000}, kMost / 1'000'000, kMost / 1'000'000 + 1, kMost})
    EXPECT_FALSE(StopSignal(nullptr, milliseconds(long_time)).requested()) << long_time;
  for (const int64_t over : {int64_t{-1}, -kMost, std::numeric_limits<int64_t>::min()})
    EXPECT_TRUE(StopSignal(nullptr, milliseconds(over)).requested()) << over;
}

TEST(StopSignal, ComesNoLaterForMoreTime) {
  EXPECT_FALSE(StopSignal().Within(milliseconds(kMost)).requested());
  EXPECT_FALSE(StopSignal().Within(milliseconds(1'000'000)).requested());
  EXPECT_TRUE(StopSignal().Within(milliseconds(0)).requested());
  EXPECT_TRUE(StopSignal().Within(milliseconds(-1)).requested());
  EXPECT_TRUE(StopSignal(nullptr, milliseconds(-1)).Within(milliseconds(kMost)).requested());
  EXPECT_EQ(StopSignal(nullptr, milliseconds(1000)).Within(milliseconds(kMost)).timeout(), milliseconds(1000));
}

TEST(LoadLimits, TellWhatIsLeft) {
  const auto left = [](int64_t timeout) {
    const auto budget = std::make_shared<MemoryBudget>("the limit of memory", 0);
    return LoadLimits(budget, nullptr, milliseconds(timeout)).time_left().count();
  };
  EXPECT_EQ(left(0), 0);
  EXPECT_EQ(left(-1), 1);
  EXPECT_EQ(left(std::numeric_limits<int64_t>::min()), 1);
  EXPECT_GT(left(kMost), kMost / 2);
}

}  // namespace
}  // namespace tessera
