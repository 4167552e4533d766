#include "tessera/log.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// What `function` writes to standard error.
template <class F>
std::string StandardErrorOf(F function) {
  ::testing::internal::CaptureStderr();
  function();
  return ::testing::internal::GetCapturedStderr();
}

class LogSinkTest : public ::testing::Test {
 protected:
  ~LogSinkTest() override { SetLogSink({}); }
  const Logger log_{"mine", LogLevel::kWarning};
};

TEST_F(LogSinkTest, ReceivesWhatPassesTheLevel) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, std::string_view id, std::string_view message) {
    lines.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(id) + " " + std::string(message));
  });
  const std::string error = StandardErrorOf([&] {
    log_(LogLevel::kInfo, "not {}", "this");
    log_(LogLevel::kWarning, "this {}", 1);
    log_(LogLevel::kFatal, "that");
  });
  EXPECT_THAT(lines, ElementsAre("2 mine this 1", "4 mine that"));
  EXPECT_EQ(error, "");
  SetLogSink({});
  EXPECT_THAT(StandardErrorOf([&] { log_(LogLevel::kWarning, "on standard error"); }),
              HasSubstr("mine: on standard error"));
  EXPECT_EQ(lines.size(), 2u);
}

TEST_F(LogSinkTest, LinesHaveAnEnd) {
  std::string got;
  SetLogSink([&](LogLevel, std::string_view, std::string_view message) { got = message; });
  log_(LogLevel::kError, "one\n{}\nthree", std::string(1 << 20, 'x'));
  EXPECT_THAT(got, AllOf(StartsWith("one\nxxx"), HasSubstr("...(1048576 bytes)..."), EndsWith("xxx\nthree")));
  EXPECT_LT(got.size(), 5000u);
}

TEST_F(LogSinkTest, ThatThrowsStopsNobody) {
  SetLogSink([](LogLevel, std::string_view, std::string_view) { throw std::runtime_error("the disk is full"); });
  std::string error = StandardErrorOf([&] { log_(LogLevel::kWarning, "a line"); });
  EXPECT_THAT(error, HasSubstr("mine: the log sink threw: the disk is full"));
  EXPECT_THAT(error, HasSubstr("mine: a line"));
  SetLogSink([](LogLevel, std::string_view, std::string_view) { throw 1; });
  error = StandardErrorOf([&] { log_(LogLevel::kWarning, "another line"); });
  EXPECT_THAT(error, HasSubstr("mine: the log sink threw\n"));
  EXPECT_THAT(error, HasSubstr("mine: another line"));
}

TEST_F(LogSinkTest, ThatLogsIsNotCalledByItself) {
  int calls = 0;
  SetLogSink([&](LogLevel, std::string_view, std::string_view) {
    ++calls;
    log_(LogLevel::kWarning, "from within");
  });
  const std::string error = StandardErrorOf([&] {
    log_(LogLevel::kWarning, "first");
    log_(LogLevel::kWarning, "second");
  });
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(error, HasSubstr("mine: from within"));
  EXPECT_THAT(error, Not(HasSubstr("first")));
}

TEST_F(LogSinkTest, MayTakeItselfOff) {
  int calls = 0;
  SetLogSink([&](LogLevel, std::string_view, std::string_view) {
    ++calls;
    SetLogSink({});
  });
  EXPECT_THAT(StandardErrorOf([&] {
                log_(LogLevel::kWarning, "first");
                log_(LogLevel::kWarning, "second");
              }),
              HasSubstr("second"));
  EXPECT_EQ(calls, 1);
}

TEST_F(LogSinkTest, NobodyIsInASinkThatWasReplaced) {
  std::atomic<bool> entered{false}, left{false};
  SetLogSink([&](LogLevel, std::string_view, std::string_view) {
    entered = true;
    entered.notify_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    left = true;
  });
  std::thread other([&] { log_(LogLevel::kWarning, "a line"); });
  entered.wait(false);
  SetLogSink({});
  EXPECT_TRUE(left);
  other.join();
}

TEST_F(LogSinkTest, ManyThreadsLogWhileSinksChange) {
  std::atomic<int> lines{0};
  const auto sink = [&](LogLevel, std::string_view, std::string_view) { ++lines; };
  SetLogSink(sink);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) log_(LogLevel::kWarning, "{}", i);
    });
  }
  for (int i = 0; i < 100; ++i) SetLogSink(sink);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines, 4000);
}

}  // namespace
}  // namespace tessera
