#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fork.h"
#include "base/shortened.h"
#include "tessera/printable.h"

namespace tessera {
namespace {

/// Each entry is written whole.
ForkMutex& StandardErrorMutex() {
  static ForkMutex& mutex = *new ForkMutex;
  return mutex;
}

spdlog::logger& StandardError() {
  static spdlog::logger& logger = [&]() -> spdlog::logger& {
    // Never freed: threads may log while the process ends.
    auto* made = new spdlog::logger("tessera", std::make_shared<spdlog::sinks::stderr_color_sink_st>());
    made->set_level(spdlog::level::trace);
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e [%^%l%$] %v");
    return *made;
  }();
  return logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kVerbose: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kFatal: return spdlog::level::critical;
  }
  return spdlog::level::info;
}

/// A sink of the application's, and how many threads are in it.
struct CustomSink {
  LogSink function;
  std::atomic<int> calls{0};
  uint32_t generation = ForkGeneration();
};

/// Where entries go. Never freed: threads may log while the process ends.
struct Route {
  ForkMutex mutex;
  std::shared_ptr<CustomSink> sink;  // null: standard error
};

Route& TheRoute() {
  static Route& route = *new Route;
  return route;
}

thread_local bool in_sink = false;

/// With the route's mutex held. In a process that was forked since, the calls of other threads that were under way never
/// end.
void ForgetLostCalls(CustomSink& sink) noexcept {
  if (std::exchange(sink.generation, ForkGeneration()) != ForkGeneration()) sink.calls = in_sink ? 1 : 0;
}

/// One call of the sink in force, which it holds; of none where this thread is in a sink already.
class SinkCall {
 public:
  SinkCall() {
    if (in_sink) return;
    Route& route = TheRoute();
    const std::lock_guard lock(route.mutex);
    sink_ = route.sink;
    if (sink_ == nullptr) return;
    ForgetLostCalls(*sink_);
    in_sink = true;
    ++sink_->calls;
  }
  ~SinkCall() {
    if (sink_ == nullptr) return;
    in_sink = false;
    if (--sink_->calls == 0) sink_->calls.notify_all();
  }
  SinkCall(const SinkCall&) = delete;
  SinkCall& operator=(const SinkCall&) = delete;

  const LogSink* function() const noexcept { return sink_ == nullptr ? nullptr : &sink_->function; }

 private:
  std::shared_ptr<CustomSink> sink_;
};

/// Further lines of an entry are set apart, so that a name with a line end in it makes nothing that looks like an entry.
std::string Indented(std::string_view message) {
  std::string indented;
  for (const char c : message) {
    indented += c;
    if (c == '\n') indented += "    ";
  }
  return indented;
}

/// A model may make a name of any length, and a log must stay one that can be read.
constexpr size_t kLongestLine = 4096;

std::string ShortenedLines(std::string_view message) {
  std::string shortened;
  for (size_t begin = 0; begin <= message.size();) {
    const size_t end = std::min(message.find('\n', begin), message.size());
    shortened += Shortened(message.substr(begin, end - begin), kLongestLine);
    if (end < message.size()) shortened += '\n';
    begin = end + 1;
  }
  return shortened;
}

void WriteToStandardError(LogLevel level, std::string_view id, std::string_view message) {
  const std::lock_guard lock(StandardErrorMutex());
  StandardError().log(ToSpdlog(level), "{}: {}", id, Indented(message));
}

}  // namespace

void SetLogSink(LogSink sink) {
  std::shared_ptr<CustomSink> other;
  if (sink) {
    other = std::make_shared<CustomSink>();
    other->function = std::move(sink);
  }
  Route& route = TheRoute();
  {
    const std::lock_guard lock(route.mutex);
    std::swap(route.sink, other);
    if (other != nullptr) ForgetLostCalls(*other);
  }
  if (other == nullptr || in_sink) return;
  for (int calls; (calls = other->calls) != 0;) other->calls.wait(calls);
}

void Logger::Write(LogLevel level, std::string_view text) const {
  const std::string message = ShortenedLines(PrintableLines(text)), id = Shortened(Printable(id_));
  if (const SinkCall call; call.function() != nullptr) {
    try {
      return (*call.function())(level, id, message);
    } catch (const std::exception& error) {
      WriteToStandardError(LogLevel::kError, id, std::string("the log sink threw: ") + error.what());
    } catch (...) {
      WriteToStandardError(LogLevel::kError, id, "the log sink threw");
    }
  }
  WriteToStandardError(level, id, message);
}

}  // namespace tessera
