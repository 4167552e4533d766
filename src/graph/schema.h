#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/provider/graph.h"

namespace onnx {
class OpSchema;
}

namespace tessera {

/// Domains whose operators ONNX itself defines: an operator that is not among them does not exist.
bool IsStandardDomain(std::string_view domain) noexcept;

/// The schema of an operator as an opset has it: ONNX's, or one of the contributed ones (graph/microsoft); null where there
/// is none.
const onnx::OpSchema* FindSchema(const std::string& op_type, int opset, const std::string& domain);

/// The same of a node's operator and version.
const onnx::OpSchema* FindSchema(const Node& node);

/// The schema that says which attributes a node has, and which types its values: ONNX's, too, for operators with channels
/// last.
const onnx::OpSchema* FindSchemaBehindLayout(const Node& node);

/// The attributes that a node leaves out and its schema has a number or a text for, or a list of them; by name.
std::vector<Attribute> DefaultAttributes(const Node& node);

}  // namespace tessera
