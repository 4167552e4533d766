// The log: Tessera has one for the process, clients have one for the environment and one for each session that asks.

#include <map>
#include <mutex>

#include "base/fork.h"
#include "bindings/c/entry.h"
#include "bindings/c/env.h"
#include "bindings/c/session_options.h"
#include "tessera/printable.h"

namespace tessera::c_abi {
namespace {

struct SessionTarget {
  LogTarget target;
  std::string shown;
};

struct LogRoutes {
  ForkMutex mutex;
  LogTarget env;
  std::map<std::string, SessionTarget, std::less<>> sessions;
  uint64_t made = 0;
};

/// Never freed: threads may log while the process ends.
LogRoutes& TheRoutes() {
  static LogRoutes& routes = *new LogRoutes;
  return routes;
}

void WriteLine(LogLevel level, std::string_view id, std::string_view message) {
  LogTarget target;
  std::string shown(id);
  {
    LogRoutes& routes = TheRoutes();
    const std::lock_guard lock(routes.mutex);
    const auto session = routes.sessions.find(id);
    target = session != routes.sessions.end() ? session->second.target : routes.env;
    if (session != routes.sessions.end()) shown = session->second.shown;
  }
  const std::string text(message);
  if (target.function == nullptr) {
    fmt::print(stderr, "{}: {}\n", shown, text);
    return;
  }
  target.function(target.param, static_cast<OrtLoggingLevel>(level), "tessera", shown.c_str(), "tessera", text.c_str());
}

/// Tessera's own way to standard error where no client wants lines.
void RouteAgain() {
  bool wanted = false;
  {
    LogRoutes& routes = TheRoutes();
    const std::lock_guard lock(routes.mutex);
    wanted = routes.env.function != nullptr || !routes.sessions.empty();
  }
  SetLogSink(wanted ? LogSink(WriteLine) : LogSink());
}

}  // namespace

void SetEnvLog(const LogTarget& target) {
  {
    LogRoutes& routes = TheRoutes();
    const std::lock_guard lock(routes.mutex);
    if (routes.env.function == target.function && routes.env.param == target.param) return;
    routes.env = target;
  }
  RouteAgain();
}

SessionLog::SessionLog(const LogTarget& target, std::string_view name) {
  const std::string shown = Printable(name);  // as the Logger has it, by which the target is found
  {
    LogRoutes& routes = TheRoutes();
    const std::lock_guard lock(routes.mutex);
    id_ = fmt::format("{}#{}", shown, ++routes.made);
    routes.sessions.emplace(id_, SessionTarget{target, shown});
  }
  RouteAgain();
}

SessionLog::~SessionLog() {
  {
    LogRoutes& routes = TheRoutes();
    const std::lock_guard lock(routes.mutex);
    routes.sessions.erase(id_);
  }
  try {
    RouteAgain();
  } catch (...) {  // the old way stays, and finds nobody
  }
}

OrtStatusPtr SetUserLoggingFunction(OrtSessionOptions* options, OrtLoggingFunction user_logging_function,
                                    void* user_logging_param) noexcept {
  return Guarded([&] { Given(options, "the session options").log = {user_logging_function, user_logging_param}; });
}

}  // namespace tessera::c_abi
