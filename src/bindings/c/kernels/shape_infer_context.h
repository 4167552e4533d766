#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "bindings/c/type_info.h"
#include "bindings/c/views/op_attr.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/provider/graph.h"

/// A node as a client's function sees it that infers the types of its outputs. Lives as long as the call.
struct OrtShapeInferContext {
  /// `its_outputs`: what is known of each already, which the function may replace.
  OrtShapeInferContext(const tessera::GraphViewer& graph, const tessera::Node& node,
                       std::span<tessera::TypeInfo> its_outputs);
  OrtShapeInferContext(const OrtShapeInferContext&) = delete;
  OrtShapeInferContext& operator=(const OrtShapeInferContext&) = delete;

  std::vector<std::unique_ptr<OrtTensorTypeAndShapeInfo>> inputs;  // of unknown type where omitted
  std::deque<OrtOpAttr> attributes;
  const std::span<tessera::TypeInfo> outputs;
};
