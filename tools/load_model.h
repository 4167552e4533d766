#pragma once

#include <filesystem>

#include "tessera/session.h"

namespace tessera {

/// Loads a model that the command line names. Throws UsageError where the options fail with any model: they have a value
/// that is not allowed, or name a device that is not here. Throws Error where the model is at fault.
Session LoadModel(const std::filesystem::path& model, const SessionOptions& options);

}  // namespace tessera
