#pragma once

// A model in which what providers have compiled stands as nodes, so that later sessions start without compiling it.

#include <string>
#include <string_view>

#include "base/log.h"
#include "model/model.h"
#include "partition/early_claims.h"
#include "runtime/resources.h"
#include "tessera/session.h"

namespace tessera {

/// Under what a written model's metadata says what a provider must know of what it compiled.
std::string CompatibilityKey(std::string_view provider);

/// Before anything is compiled. Throws Error where a model cannot or must not be written at the path.
void RequireRoomForCompiledModel(const CompiledModelOptions& options);

/// Writes the graph of `model` with the providers' context nodes in place of what they stand for; parts without one are
/// written as they are. Nothing where no part has one, which the log tells.
void WriteCompiledModel(const Model& model, const EarlyParts& early, const SessionResources& resources,
                        const CompiledModelOptions& options, const Logger& log);

}  // namespace tessera
