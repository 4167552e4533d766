// What is left of a thread's stack, and memory that takes the place of arrays on it.

#include "base/stack.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <thread>

#include "base/check.h"
#include "base/thread_of_stack.h"
#include "base/work_array.h"
#include "error_of.h"
#include "on_stack_of.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::OnStackOf;

TEST(Stack, IsKnownToTheThread) {
  static constexpr size_t kSize = size_t{256} << 10;
  OnStackOf(kSize, [] {
    const size_t left = StackLeft();
    EXPECT_LT(left, kSize);
    EXPECT_GT(left, kSize / 2);
  });
}

TEST(Stack, IsAskedFor) {
  OnStackOf(size_t{256} << 10, [] {
    EXPECT_EQ(ErrorOf([] { RequireStack(size_t{64} << 10, "this"); }), "no error");
    EXPECT_THAT(ErrorOf([] { RequireStack(size_t{1} << 20, "this"); }),
                HasSubstr("this takes 1048576: run it on a thread with a larger stack"));
  });
}

TEST(Stack, IsMadeWhereItIsTooSmall) {
  OnStackOf(size_t{256} << 10, [] {
    const auto here = std::this_thread::get_id();
    WithStack(size_t{64} << 10, [&] { EXPECT_EQ(std::this_thread::get_id(), here); });
    WithStack(size_t{4} << 20, [&] {
      EXPECT_NE(std::this_thread::get_id(), here);
      EXPECT_GE(StackLeft(), size_t{4} << 20);
    });
    EXPECT_EQ(ErrorOf([] { WithStack(size_t{4} << 20, [] { Fail(ErrorCode::kFail, "from afar"); }); }), "from afar");
  });
}

TEST(Stack, IsThatOfAThreadMadeForACall) {
  size_t left = 0;
  EXPECT_EQ(CallOnThread(size_t{1} << 20, [&] { left = StackLeft(); }), 0);
  EXPECT_GT(left, size_t{512} << 10);
  EXPECT_NE(CallOnThread(0, [] { FAIL() << "no stack is that small"; }), 0);
}

TEST(WorkArray, IsTheThreadsOwnAndKept) {
  const void* first = nullptr;
  {
    const WorkArray<double> a(1000);
    first = a.data();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
    const WorkArray<double> b(1000);
    std::fill_n(a.data(), 1000, 1.0);
    std::fill_n(b.data(), 1000, 2.0);
    EXPECT_EQ(std::count(a.data(), a + 1000, 1.0), 1000);
  }
  const WorkArray<float> again(2000);
  EXPECT_EQ(static_cast<const void*>(again.data()), first);
  std::thread([&] {
    const WorkArray<float> elsewhere(2000);
    EXPECT_NE(elsewhere.data(), again.data());
  }).join();
}

/// Blocks in blocks, more than are kept.
void Nest(int depth) {
  if (depth == 0) return;
  constexpr int64_t kCount = 5000;
  const WorkArray<int> own(kCount);
  std::fill_n(own.data(), kCount, depth);
  Nest(depth - 1);
  EXPECT_EQ(std::count(own.data(), own + kCount, depth), kCount);
}

TEST(WorkArray, LiesInOthers) {
  Nest(20);
  Nest(20);
}

TEST(WorkArray, OfMoreThanThereIsIsAnError) {
  EXPECT_THAT(ErrorOf([] { const WorkArray<double> all(std::numeric_limits<size_t>::max() / 16); }),
              HasSubstr("out of memory"));
  EXPECT_THAT(ErrorOf([] { const WorkArray<double> all(std::numeric_limits<size_t>::max() / 4); }),
              HasSubstr("size overflows"));
  const WorkArray<double> some(10);
  EXPECT_NE(some.data(), nullptr);
}

}  // namespace
}  // namespace tessera
