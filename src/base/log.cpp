#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace tessera {
namespace {

spdlog::logger& StandardError() {
  static spdlog::logger& logger = [&]() -> spdlog::logger& {
    // Never freed: threads may log while the process ends.
    auto* made = new spdlog::logger("tessera", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_level(spdlog::level::trace);
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e [%^%l%$] %v");
    return *made;
  }();
  return logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kVerbose:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kFatal:
      return spdlog::level::critical;
  }
  return spdlog::level::info;
}

/// A sink of the application's, and how many threads are in it.
struct CustomSink {
  LogSink function;
  std::atomic<int> calls{0};
};

/// Where entries go. Never freed: threads may log while the process ends.
struct Route {
  std::mutex mutex;
  std::shared_ptr<CustomSink> sink;  // null: standard error
};

Route& TheRoute() {
  static Route& route = *new Route;
  return route;
}

thread_local bool in_sink = false;

/// One call of the sink in force, which it holds; of none where this thread is in a sink already.
class SinkCall {
 public:
  SinkCall() {
    if (in_sink) return;
    Route& route = TheRoute();
    const std::lock_guard lock(route.mutex);
    sink_ = route.sink;
    if (sink_ == nullptr) return;
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
  }
  if (other == nullptr || in_sink) return;
  for (int calls; (calls = other->calls) != 0;) other->calls.wait(calls);
}

void Logger::Write(LogLevel level, std::string_view message) const {
  if (const SinkCall call; call.function() != nullptr) {
    try {
      return (*call.function())(level, id_, message);
    } catch (const std::exception& error) {
      StandardError().error("{}: the log sink threw: {}", id_, error.what());
    } catch (...) {
      StandardError().error("{}: the log sink threw", id_);
    }
  }
  StandardError().log(ToSpdlog(level), "{}: {}", id_, message);
}

}  // namespace tessera
