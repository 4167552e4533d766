#pragma once

// What libraries and operators of clients see of the session that they work for.

#include <map>
#include <string>

#include "bindings/c/logger.h"
#include "tessera/session.h"

namespace tessera::plugin {

/// Its config entries: those of any name, and Tessera's own that are not among them.
std::map<std::string, std::string, std::less<>> ConfigEntriesOf(const SessionOptions& session);

/// Writes under the session's id, or `name` where it has none.
OrtLogger LoggerOf(const SessionOptions& session, const std::string& name);

}  // namespace tessera::plugin
