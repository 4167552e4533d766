#pragma once

// Gelu (20): x times the normal distribution's share below x, or its approximation by tanh.

#include <string>

#include "base/check.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct GeluAttributes {
  explicit GeluAttributes(const Node& node) {
    const auto approximate = AttributeOr<std::string>(node, "approximate", "none");
    Require(approximate == "none" || approximate == "tanh", "attribute 'approximate' is '{}', expected none or tanh",
            approximate);
    tanh = approximate == "tanh";
  }

  bool tanh;
};

}  // namespace tessera
