#pragma once

#include <span>
#include <string>
#include <vector>

#include "hostile_value.h"
#include "onnx/onnx_pb.h"

namespace tessera::fuzz {

/// Forgets the declared shapes of inputs, outputs and inner values, so that inputs of any shape reach the kernels.
void DropShapes(onnx::ModelProto& model);

/// Declares the shapes that `inputs` have, which lets inference and memory planning work with them.
void DeclareShapes(onnx::ModelProto& model, std::span<const Value> inputs);

/// Declares shapes that inference cannot check: each tensor comes out of a Reshape to a shape that is an input, too. The
/// declared shapes stay, some of their sizes forgotten; `inputs` become those of the new model, and may be of any other
/// shape.
void DeclareUnchecked(onnx::ModelProto& model, std::vector<Value>& inputs, Random& random);

/// Makes the tensor an initializer instead of the graph's input `name`.
void MakeConstant(onnx::ModelProto& model, const std::string& name, const Tensor& tensor);

/// Some inputs reach the model by the toy provider's Untyped, so that their types show only when it runs, and the types
/// declared for outputs and inner values are kept, forgotten or others. Inputs keep their places.
void LeaveTypesOpen(onnx::ModelProto& model, Random& random);

/// Sets one attribute of one node to a hostile value, removes it, or changes which values the node reads and writes.
void DamageNode(onnx::ModelProto& model, Random& random);

/// Declares another element type for an input; the caller gives a value of that type. Returns kUndefined when the input is
/// not a tensor.
ElementType ChangeInputType(onnx::ModelProto& model, size_t input, Random& random);

}  // namespace tessera::fuzz
