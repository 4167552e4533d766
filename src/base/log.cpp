#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>

namespace tessera {
namespace {

std::mutex sink_mutex;
std::shared_ptr<const LogSink> custom_sink;

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

}  // namespace

void SetLogSink(LogSink sink) {
  auto held = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(sink_mutex);
  custom_sink = std::move(held);
}

void Logger::Write(LogLevel level, std::string_view message) const {
  std::shared_ptr<const LogSink> sink;
  {
    const std::lock_guard lock(sink_mutex);
    sink = custom_sink;
  }
  if (sink != nullptr) {
    (*sink)(level, id_, message);
  } else {
    StandardError().log(ToSpdlog(level), "{}: {}", id_, message);
  }
}

}  // namespace tessera
