#pragma once

#include <string_view>

#include "tessera/graph.h"

namespace onnx {
class OpSchema;
}

namespace tessera {

/// Domains whose operators ONNX itself defines: an operator that is not among them does not exist.
bool IsStandardDomain(std::string_view domain) noexcept;

/// ONNX's schema of a node's operator and version; null where ONNX defines none.
const onnx::OpSchema* FindSchema(const Node& node);

}  // namespace tessera
