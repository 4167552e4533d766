#include "plugin/session_view.h"

namespace tessera::plugin {

std::map<std::string, std::string, std::less<>> ConfigEntriesOf(const SessionOptions& session) {
  auto entries = session.provider_config;
  entries.insert(session.config.begin(), session.config.end());
  return entries;
}

OrtLogger LoggerOf(const SessionOptions& session, const std::string& name) {
  return {Logger(session.log_id.empty() ? name : session.log_id, session.log_level.value_or(LogLevel::kWarning))};
}

}  // namespace tessera::plugin
