#pragma once

// Entries of the process's log, on what happened. Errors are thrown, not logged.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "tessera/log.h"

namespace tessera {

class Logger {
 public:
  Logger() = default;
  Logger(std::string id, LogLevel level) : id_(std::move(id)), level_(level) {}

  bool enabled(LogLevel level) const noexcept { return level >= level_; }

  template <class... Args>
  void operator()(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(level)) Write(level, fmt::format(format, std::forward<Args>(args)...));
  }
  /// Whatever the level. Nothing that the sink does leaves this.
  void Write(LogLevel level, std::string_view message) const;

 private:
  std::string id_ = "tessera";
  LogLevel level_ = LogLevel::kWarning;
};

}  // namespace tessera
