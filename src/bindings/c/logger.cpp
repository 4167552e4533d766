// Log entries of libraries of clients.

#include "bindings/c/logger.h"

#include <filesystem>
#include <string>

#include "bindings/c/entry.h"

namespace tessera::c_abi {

OrtStatusPtr Logger_LogMessage(const OrtLogger* logger, OrtLoggingLevel log_severity_level, const char* message,
                               const ORTCHAR_T* file_path, int line_number, const char* func_name) noexcept {
  return Guarded([&] {
    const Logger& log = Given(logger, "the logger").logger;
    const char* text = &Given(message, "the message");
    const auto level = static_cast<LogLevel>(log_severity_level);
    Require(level >= LogLevel::kVerbose && level <= LogLevel::kFatal, "there is no severity {}",
            static_cast<int>(log_severity_level));
    const std::string file = file_path == nullptr ? "?" : std::filesystem::path(file_path).filename().string();
    log(level, "{} [{}:{}, {}]", text, file, line_number, func_name == nullptr ? "?" : func_name);
  });
}

OrtStatusPtr Logger_GetLoggingSeverityLevel(const OrtLogger* logger, OrtLoggingLevel* out) noexcept {
  return Guarded([&] {
    const Logger& log = Given(logger, "the logger").logger;
    auto level = LogLevel::kVerbose;
    while (level < LogLevel::kFatal && !log.enabled(level)) level = static_cast<LogLevel>(static_cast<int>(level) + 1);
    Given(out, "out") = static_cast<OrtLoggingLevel>(level);
  });
}

}  // namespace tessera::c_abi
