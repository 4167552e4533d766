#pragma once

#include "bindings/c/editor/write_graph.h"
#include "model/proto.h"
#include "onnx/onnx_pb.h"

namespace tessera::c_abi {

/// A model, in either format, as a message whose large weights stay in `model`'s bytes. Throws Error(kInvalidProtobuf) for
/// bytes that are no model.
onnx::ModelProto RestoreModel(const SharedBytes& model, WeightsInMemory& weights);

}  // namespace tessera::c_abi
