#pragma once

#include "../hostile_value.h"
#include "onnx/onnx_pb.h"

namespace tessera::fuzz {

/// Changes a model at one place of its main graph, a nested one or a function: operators of any domain, attributes, edges,
/// declared types and shapes, initializers, versions, nested graphs, functions. What comes of it is seldom valid, but close
/// to it.
void MutateModel(onnx::ModelProto& model, Random& random);

/// Puts a node of `from`, or what it says of one, into the model.
void Splice(onnx::ModelProto& model, const onnx::ModelProto& from, Random& random);

}  // namespace tessera::fuzz
