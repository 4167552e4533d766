#pragma once

#include "model/external_data.h"
#include "model/model.h"
#include "model/proto.h"

namespace tessera {

/// The model's initializers as the caller wants them: each that is named becomes external data in a file in memory, which
/// is added to `files`. Throws Error for names that are no initializers, and for tensors of another type or shape.
void ReplaceWeights(onnx::ModelProto& model, const LoadOptions& options, FilesInMemory& files);

/// Inputs' dimensions that the model has a word for get the size that the caller has for it. `sizes` gets those of the
/// names that such dimensions have, too.
void FixDenotedDimensions(onnx::ModelProto& model, const LoadOptions& options, std::map<std::string, int64_t>& sizes);

}  // namespace tessera
