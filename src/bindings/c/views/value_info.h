#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bindings/c/handle.h"
#include "bindings/c/type_info.h"
#include "bindings/c/value.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/provider/graph.h"

/// A value of a graph's view, or of a node on its own.
struct OrtValueInfo {
  struct Consumer {
    const OrtNode* node;
    int64_t input;  // -1: a nested graph of the node reads it
  };

  OrtValueInfo(const tessera::Graph& of, tessera::ValueIndex index, const OrtGraph* its_view);
  OrtValueInfo(const OrtValueInfo&) = delete;
  OrtValueInfo& operator=(const OrtValueInfo&) = delete;

  tessera::c_abi::Mark<OrtValueInfo> mark;
  const OrtGraph* const view;         // null: of a node on its own
  std::string name;                   // as the graph has it that made the value
  std::unique_ptr<OrtTypeInfo> type;  // null where it is not known
  const OrtNode* producer = nullptr;  // null: none in this view
  size_t output = 0;                  // of the producer
  std::vector<Consumer> consumers;    // in this view
  OrtValue initializer;               // none: it is no initializer
  bool is_constant = false;           // no caller can override the initializer
  bool is_outer = false;              // captured from an enclosing graph
  bool is_required_input = false;
  bool is_optional_input = false;
  bool is_output = false;
};

namespace tessera::c_abi {

/// The value where it is made: in the graph itself, or where it captures it.
const GraphValue& MadeValue(const Graph& graph, ValueIndex index) noexcept;

}  // namespace tessera::c_abi
