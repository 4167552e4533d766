#include "runtime/threads/affinities.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "runtime/threads/thread_pools.h"
#include "tessera/error.h"
#include "tessera/thread_options.h"

namespace tessera {
namespace {

TEST(Affinities, AreReadThreadByThread) {
  EXPECT_EQ(ParseAffinities(""), std::vector<Processors>());
  EXPECT_EQ(ParseAffinities("1"), (std::vector<Processors>{{0}}));
  EXPECT_EQ(ParseAffinities("1,3;2"), (std::vector<Processors>{{0, 2}, {1}}));
  EXPECT_EQ(ParseAffinities("2-4,8;1-1"), (std::vector<Processors>{{1, 2, 3, 7}, {0}}));
}

TEST(Affinities, OfNoProcessorsAreErrors) {
  for (const char* text : {"0", "x", "1;;2", ",", "3-2", "1-", "-1", "1-2-3", "99999", " 1"})
    EXPECT_THROW(ParseAffinities(text), Error) << text;
}

TEST(Affinities, AreAsManyAsThePoolHasThreadsOfItsOwn) {
  EXPECT_NO_THROW(MakeWorkerPool(3, ThreadOptions{.affinities = "1;1"}));
  EXPECT_THROW(MakeWorkerPool(3, ThreadOptions{.affinities = "1"}), Error);
  EXPECT_THROW(MakeWorkerPool(3, ThreadOptions{.affinities = "1;1;1"}), Error);
  EXPECT_NO_THROW(MakeWorkerPool(1, ThreadOptions{.affinities = "1;1"}));  // no thread of its own
}

/// A client's function that fails at the second thread: the first one is waited for.
TEST(ThreadStarters, ThatFailLeaveNoThreadBehind) {
  int started = 0, joined = 0;
  ThreadOptions options;
  options.start = [&](std::function<void()> body) -> std::function<void()> {
    if (++started == 2) throw Error(ErrorCode::kFail, "no more threads");
    return [&joined, thread = std::make_shared<std::thread>(std::move(body))] {
      thread->join();
      ++joined;
    };
  };
  EXPECT_THROW(MakeWorkerPool(4, options), Error);
  EXPECT_EQ(joined, 1);
}

}  // namespace
}  // namespace tessera
