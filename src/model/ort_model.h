#pragma once

#include <span>

#include "model/large_data.h"
#include "model/proto.h"

namespace tessera {

/// Whether the bytes are a model in ONNX Runtime's own format (files that end in .ort), which is a FlatBuffer.
bool IsOrtModel(std::span<const std::byte> bytes) noexcept;

/// The same model as ONNX has it. Data of large tensors stays where it is and is named in `data`, as StripLargeData does.
/// Throws Error(kInvalidProtobuf) for damaged files, and Error(kNotImplemented) for parts that ONNX has no words for: what
/// a provider compiled, and weights in a second file.
onnx::ModelProto ReadOrtModel(std::span<const std::byte> bytes, const LoadLimits& limits,
                              StringMap<std::span<const std::byte>>& data);

}  // namespace tessera
