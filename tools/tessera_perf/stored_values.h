#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "tessera/session.h"

namespace tessera::perf {

/// Writes FOLDER/output_K.pb for each result; the folder is made when it is missing.
void WriteOutputs(const Session& session, std::span<const Value> results, const std::filesystem::path& folder);

}  // namespace tessera::perf
