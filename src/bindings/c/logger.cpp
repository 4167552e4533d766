#include "bindings/c/logger.h"

#include "base/log.h"
#include "bindings/c/entry.h"

namespace tessera::c_abi {

OrtStatusPtr Logger_LogMessage(const OrtLogger* logger, OrtLoggingLevel log_severity_level, const char* message,
                               const ORTCHAR_T* file_path, int line_number, const char* func_name) noexcept {
  return Guarded([&] {
    const OrtLogger& own = Given(logger, "the logger");
    const std::string_view text = &Given(message, "the message");
    const auto level = static_cast<LogLevel>(log_severity_level);
    if (level < own.level) return;
    std::string line(text);
    if (level == LogLevel::kVerbose && file_path != nullptr)
      line += fmt::format(" [{}:{} {}]", file_path, line_number, func_name == nullptr ? "" : func_name);
    Logger(own.id, own.level).Write(level, line);
  });
}

OrtStatusPtr Logger_GetLoggingSeverityLevel(const OrtLogger* logger, OrtLoggingLevel* out) noexcept {
  return Guarded(
      [&] { Given(out, "out") = static_cast<OrtLoggingLevel>(Given(logger, "the logger").level); });
}

}  // namespace tessera::c_abi
