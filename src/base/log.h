#pragma once

// One line on what happened, to the process's log. Errors are thrown, not logged.

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/session.h"

namespace tessera {

/// Receives every line that passes its logger's level; called from any thread.
using LogSink = std::function<void(LogLevel level, std::string_view id, std::string_view message)>;

/// Replaces standard error as the target of all loggers; an empty function restores it.
void SetLogSink(LogSink sink);

class Logger {
 public:
  Logger() = default;
  Logger(std::string id, LogLevel level) : id_(std::move(id)), level_(level) {}

  bool enabled(LogLevel level) const noexcept { return level >= level_; }

  template <class... Args>
  void operator()(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(level)) Write(level, fmt::format(format, std::forward<Args>(args)...));
  }
  void Write(LogLevel level, std::string_view message) const;

 private:
  std::string id_ = "tessera";
  LogLevel level_ = LogLevel::kWarning;
};

}  // namespace tessera
