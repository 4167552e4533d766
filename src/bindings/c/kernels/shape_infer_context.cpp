// What a client's operator is told of a node, and says of its outputs, before there is a kernel.

#include "bindings/c/kernels/shape_infer_context.h"

#include <algorithm>

#include "bindings/c/entry.h"

OrtShapeInferContext::OrtShapeInferContext(const tessera::GraphViewer& graph, const tessera::Node& node,
                                           std::span<tessera::TypeInfo> its_outputs)
    : outputs(its_outputs) {
  for (const tessera::ValueIndex input : node.inputs) {
    auto& info = inputs.emplace_back(std::make_unique<OrtTensorTypeAndShapeInfo>());
    info->has_shape = false;
    if (input != tessera::kNone && graph.value(input).type.is_tensor())
      tessera::c_abi::Describe(graph.value(input).type, *info);
  }
  for (const tessera::Attribute& attribute : node.attributes) attributes.emplace_back(attribute);
}

namespace tessera::c_abi {
namespace {

const OrtShapeInferContext& Context(const OrtShapeInferContext* context) { return Given(context, "the context"); }

/// Dimensions below 0 are open.
SymbolicShape ShapeOf(const OrtTensorTypeAndShapeInfo& info) {
  SymbolicShape shape;
  for (size_t i = 0; i < info.dims.rank(); ++i) {
    Dimension& dimension = shape.emplace_back();
    if (i < info.symbols.size()) dimension.symbol = info.symbols[i];
    if (info.dims[i] >= 0 && dimension.symbol.empty()) dimension.value = info.dims[i];
  }
  return shape;
}

}  // namespace

OrtStatusPtr ShapeInferContext_GetInputCount(const OrtShapeInferContext* context, size_t* out) noexcept {
  return Guarded([&] { Given(out, "out") = Context(context).inputs.size(); });
}

// The info is the context's.
OrtStatusPtr ShapeInferContext_GetInputTypeShape(const OrtShapeInferContext* context, size_t index,
                                                 OrtTensorTypeAndShapeInfo** info) noexcept {
  return Guarded([&] {
    const auto& inputs = Context(context).inputs;
    Require(index < inputs.size(), "the node has {} inputs, number {} is asked for", inputs.size(), index);
    Given(info, "out") = inputs[index].get();
  });
}

OrtStatusPtr ShapeInferContext_GetAttribute(const OrtShapeInferContext* context, const char* attr_name,
                                            const OrtOpAttr** attr) noexcept {
  return Guarded([&] {
    const std::string_view name = &Given(attr_name, "the name");
    const auto& attributes = Context(context).attributes;
    const auto found =
        std::ranges::find_if(attributes, [&](const OrtOpAttr& held) { return held.attribute->name == name; });
    Require(found != attributes.end(), "the node has no attribute '{}'", name);
    Given(attr, "out") = &*found;
  });
}

OrtStatusPtr ShapeInferContext_SetOutputTypeShape(const OrtShapeInferContext* context, size_t index,
                                                  const OrtTensorTypeAndShapeInfo* info) noexcept {
  return Guarded([&] {
    const auto outputs = Context(context).outputs;
    const OrtTensorTypeAndShapeInfo& said = Given(info, "the type");
    Require(index < outputs.size(), "the node has {} outputs, number {} is set", outputs.size(), index);
    TypeInfo& output = outputs[index];
    const bool has_type = said.element != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    output = TypeInfo::OfTensor(has_type ? ElementOf(said.element) : output.element);
    if (said.has_shape) output.shape = ShapeOf(said);
  });
}

}  // namespace tessera::c_abi
