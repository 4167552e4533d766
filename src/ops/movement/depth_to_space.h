#pragma once

// DepthToSpace (1, 11, 13, 28) and its inverse SpaceToDepth (1, 13, 28).

#include <string>

#include "base/check.h"
#include "base/checked.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct DepthToSpaceAttributes {
  explicit DepthToSpaceAttributes(const Node& node) : block(AttributeOr<int64_t>(node, "blocksize", 0)) {
    Require(block > 0, "blocksize is {}, a positive number is expected", block);
    area = CheckedMul(block, block);
    const auto mode = AttributeOr<std::string>(node, "mode", "DCR");
    Require(mode == "DCR" || mode == "CRD", "mode is '{}', expected DCR or CRD", mode);
    depth_last = mode == "CRD";
  }

  /// Of [N, C, H, W], whose channels become blocks of pixels. This and its inverse throw Error where they do not divide.
  Shape SpaceShape(const Shape& x) const {
    CheckImage(x);
    Require(x[1] % area == 0, "{} channels cannot be shared out to blocks of {}", x[1], block);
    return {x[0], x[1] / area, CheckedMul(x[2], block), CheckedMul(x[3], block)};
  }
  Shape DepthShape(const Shape& x) const {
    CheckImage(x);
    Require(x[2] % block == 0 && x[3] % block == 0, "{} is not made of blocks of {}", x, block);
    return {x[0], CheckedMul(x[1], area), x[2] / block, x[3] / block};
  }

  int64_t block;
  int64_t area;     // pixels of a block
  bool depth_last;  // a block's pixels are the innermost part of the channels, else the outermost

 private:
  static void CheckImage(const Shape& x) { Require(x.rank() == 4, "input has shape {}, expected [N, C, H, W]", x); }
};

}  // namespace tessera
