#pragma once

#include <filesystem>
#include <string>

#include "tessera/session.h"

namespace tessera::inspect {

/// One object: what the model says of itself, its inputs, outputs and sizes, where its nodes run, and, where `optimization`
/// asks for it, what the optimizer did.
std::string ToJson(const Session& session, const std::filesystem::path& model, bool optimization);

}  // namespace tessera::inspect
