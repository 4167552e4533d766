#pragma once

#include <utility>

#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/provider/graph.h"

/// An attribute: a node's, where the node keeps it, or one that a client made.
struct OrtOpAttr {
  explicit OrtOpAttr(const tessera::Attribute& of_node) : attribute(&of_node) {}
  explicit OrtOpAttr(tessera::Attribute&& made) : own(std::move(made)), attribute(&own) {}
  OrtOpAttr(const OrtOpAttr&) = delete;
  OrtOpAttr& operator=(const OrtOpAttr&) = delete;

  tessera::c_abi::Mark<OrtOpAttr> mark;
  const tessera::Attribute own;
  const tessera::Attribute* const attribute;
};
