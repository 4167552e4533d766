#pragma once

// Pad (1, 2, 11, 13, 18, 19, 21, 23, 24, 25): pads and value are attributes before version 11, and inputs from then on.

#include <string>
#include <vector>

#include "base/attribute.h"
#include "base/check.h"

namespace tessera {

enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kWrap };

struct PadAttributes {
  explicit PadAttributes(const Node& node)
      : mode(ParseMode(node)),
        from_attributes(node.since_version < 11),
        pads(AttributeOr<std::vector<int64_t>>(node, node.since_version == 1 ? "paddings" : "pads", {})),
        value(AttributeOr<float>(node, "value", 0)) {}

  PadMode mode;
  bool from_attributes;
  std::vector<int64_t> pads;  // before each dimension, then behind each
  float value;                // of mode constant

 private:
  static PadMode ParseMode(const Node& node) {
    const auto mode = AttributeOr<std::string>(node, "mode", "constant");
    if (mode == "edge") return PadMode::kEdge;
    if (mode == "reflect") return PadMode::kReflect;
    if (mode == "wrap" && node.since_version >= 19) return PadMode::kWrap;
    Require(mode == "constant", "mode '{}' is unknown", mode);
    return PadMode::kConstant;
  }
};

}  // namespace tessera
