// Nodes.

#include "bindings/c/views/node.h"

#include "bindings/c/entry.h"
#include "bindings/c/views/graph.h"
#include "bindings/c/views/list.h"
#include "graph/schema.h"
#include "onnx/defs/schema.h"

namespace tessera::c_abi {
namespace {

const OrtNode& ViewedNode(const OrtNode* node) { return Given(node, "the node"); }

/// One that a client made is no part of a graph yet that anything could be said of.
const OrtNode& PlacedNode(const OrtNode* node) {
  const OrtNode& given = ViewedNode(node);
  if (given.of_client)
    Fail(ErrorCode::kNotImplemented, "{} '{}' was made by CreateNode: what is around it is known once a session has it",
         given.node.op_type, given.node.name);
  return given;
}

/// Whether the operator has an attribute of that name that nodes may leave out.
bool MayBeLeftOut(const Node& node, const std::string& attribute) {
  const onnx::OpSchema* schema = FindSchemaBehindLayout(node);
  if (schema == nullptr) return false;
  const auto found = schema->attributes().find(attribute);
  return found != schema->attributes().end() && !found->second.required;
}

constexpr auto kNotFound = static_cast<ErrorCode>(ORT_NOT_FOUND);

}  // namespace

// Others are their views' and graphs'.
void ReleaseNode(OrtNode* input) {
  if (IsThere(input) && input->of_client && !input->is_taken) Release(input);
}

OrtStatusPtr Node_GetId(const OrtNode* node, size_t* node_id) noexcept {
  return Guarded([&] { Given(node_id, "out") = static_cast<size_t>(ViewedNode(node).node.index); });
}

OrtStatusPtr Node_GetName(const OrtNode* node, const char** node_name) noexcept {
  return Guarded([&] { Given(node_name, "out") = ViewedNode(node).node.name.c_str(); });
}

OrtStatusPtr Node_GetOperatorType(const OrtNode* node, const char** operator_type) noexcept {
  return Guarded([&] { Given(operator_type, "out") = ViewedNode(node).node.op_type.c_str(); });
}

OrtStatusPtr Node_GetDomain(const OrtNode* node, const char** domain_name) noexcept {
  return Guarded([&] { Given(domain_name, "out") = ViewedNode(node).node.domain.c_str(); });
}

OrtStatusPtr Node_GetSinceVersion(const OrtNode* node, int* since_version) noexcept {
  return Guarded([&] { Given(since_version, "out") = PlacedNode(node).node.since_version; });
}

OrtStatusPtr Node_GetEpName(const OrtNode* node, const char** out) noexcept {
  return Guarded([&] {
    Require(!ViewedNode(node).of_client, "no provider has a node that was made by CreateNode");
    Given(out, "out") = node->node.provider.c_str();
  });
}

OrtStatusPtr Node_GetGraph(const OrtNode* node, const OrtGraph** graph) noexcept {
  return Guarded([&] { Given(graph, "out") = PlacedNode(node).view; });
}

OrtStatusPtr Node_GetNumInputs(const OrtNode* node, size_t* num_inputs) noexcept {
  return Guarded([&] {
    const OrtNode& viewed = ViewedNode(node);
    Given(num_inputs, "out") = viewed.of_client ? viewed.input_names.size() : viewed.inputs.size();
  });
}

OrtStatusPtr Node_GetInputs(const OrtNode* node, const OrtValueInfo** inputs, size_t num_inputs) noexcept {
  return CopyFrom(node, PlacedNode, &OrtNode::inputs, inputs, num_inputs, "inputs");
}

OrtStatusPtr Node_GetNumOutputs(const OrtNode* node, size_t* num_outputs) noexcept {
  return Guarded([&] {
    const OrtNode& viewed = ViewedNode(node);
    Given(num_outputs, "out") = viewed.of_client ? viewed.output_names.size() : viewed.outputs.size();
  });
}

OrtStatusPtr Node_GetOutputs(const OrtNode* node, const OrtValueInfo** outputs, size_t num_outputs) noexcept {
  return CopyFrom(node, PlacedNode, &OrtNode::outputs, outputs, num_outputs, "outputs");
}

OrtStatusPtr Node_GetNumImplicitInputs(const OrtNode* node, size_t* num_implicit_inputs) noexcept {
  return CountIn(node, PlacedNode, &OrtNode::implicit_inputs, num_implicit_inputs);
}

OrtStatusPtr Node_GetImplicitInputs(const OrtNode* node, const OrtValueInfo** implicit_inputs,
                                    size_t num_implicit_inputs) noexcept {
  return CopyFrom(node, PlacedNode, &OrtNode::implicit_inputs, implicit_inputs, num_implicit_inputs, "implicit inputs");
}

OrtStatusPtr Node_GetNumAttributes(const OrtNode* node, size_t* num_attributes) noexcept {
  return Guarded([&] {
    const OrtNode& viewed = ViewedNode(node);
    Given(num_attributes, "out") = viewed.of_client ? viewed.node.attributes.size() : viewed.attributes.size();
  });
}

OrtStatusPtr Node_GetAttributes(const OrtNode* node, const OrtOpAttr** attributes, size_t num_attributes) noexcept {
  return Guarded([&] {
    const auto& held = PlacedNode(node).attributes;
    RequireRoom(attributes, num_attributes, held.size(), "attributes");
    for (const OrtOpAttr& attribute : held) *attributes++ = &attribute;
  });
}

OrtStatusPtr Node_GetAttributeByName(const OrtNode* node, const char* attribute_name,
                                     const OrtOpAttr** attribute) noexcept {
  return Guarded([&] {
    const OrtNode& viewed = ViewedNode(node);
    Require(!viewed.of_client, "the attributes of a node that was made by CreateNode are not read");
    const std::string name = &Given(attribute_name, "the attribute's name");
    Given(attribute, "out") = nullptr;
    for (const OrtOpAttr& held : viewed.attributes) {
      if (held.attribute->name == name) *attribute = &held;
    }
    if (*attribute == nullptr && !MayBeLeftOut(viewed.node, name))
      Fail(kNotFound, "{} has no attribute '{}'", viewed.node.Label(), name);
  });
}

OrtStatusPtr Node_GetNumSubgraphs(const OrtNode* node, size_t* num_subgraphs) noexcept {
  return CountIn(node, PlacedNode, &OrtNode::nested, num_subgraphs);
}

OrtStatusPtr Node_GetSubgraphs(const OrtNode* node, const OrtGraph** subgraphs, size_t num_subgraphs,
                               const char** attribute_names) noexcept {
  return Guarded([&] {
    const auto& nested = PlacedNode(node).nested;
    RequireRoom(subgraphs, num_subgraphs, nested.size(), "nested graphs");
    for (size_t i = 0; i < nested.size(); ++i) {
      subgraphs[i] = nested[i].graph;
      if (attribute_names != nullptr) attribute_names[i] = nested[i].attribute;
    }
  });
}

}  // namespace tessera::c_abi
