#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "tessera/session.h"

namespace tessera::perf {

/// Reads FOLDER/input_K.pb (serialized onnx::TensorProto and the like) for each input of the session, in its order.
std::vector<Value> ReadInputs(const Session& session, const std::filesystem::path& folder);

/// Writes FOLDER/output_K.pb for each result; the folder is made when it is missing.
void WriteOutputs(const Session& session, std::span<const Value> results, const std::filesystem::path& folder);

}  // namespace tessera::perf
