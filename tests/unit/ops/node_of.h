#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/provider/graph.h"

namespace tessera::testing {

/// A node by itself, of an operator's schema since `version`.
inline Node NodeOf(std::string op_type, int version, std::vector<Attribute> attributes = {}, std::string domain = "") {
  Node node;
  node.op_type = std::move(op_type);
  node.domain = std::move(domain);
  node.since_version = version;
  node.attributes = std::move(attributes);
  return node;
}

}  // namespace tessera::testing
