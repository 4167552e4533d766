#pragma once

// Where the library's log goes.

#include <functional>
#include <string_view>

#include "tessera/export.h"

namespace tessera {

enum class LogLevel : int { kVerbose = 0, kInfo = 1, kWarning = 2, kError = 3, kFatal = 4 };

/// Receives an entry of the log that passed its level: who wrote it (EnvironmentOptions::log_id, SessionOptions::log_id)
/// and its text, of one line or more, without a line end. Both are there during the call only.
using LogSink = std::function<void(LogLevel level, std::string_view id, std::string_view message)>;

/// Sends the log of all environments and sessions of the process to `sink` instead of standard error; an empty one restores
/// that. What gets that far is set by the log_level of EnvironmentOptions, SessionOptions and RunOptions.
///
/// Any thread may log, several at once: the sink must be thread-safe. Nothing that it does reaches or stops the library:
/// where it throws, what it threw and the entry go to standard error; so does what the library logs for a thread that is in
/// the sink already.
///
/// On return no thread is in the sink that was replaced, so that what it refers to may be destroyed: hold no lock that it
/// takes. A sink that itself calls this is not waited for.
TESSERA_API void SetLogSink(LogSink sink);

}  // namespace tessera
