#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/handle.h"
#include "bindings/c/type_info.h"
#include "bindings/c/value.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/provider/graph.h"

namespace tessera::c_abi {
struct GraphView;
}

/// A value of a graph's view, of a node on its own, or of a graph that a client makes.
struct OrtValueInfo {
  struct Consumer {
    const OrtNode* node;
    int64_t input;  // -1: a nested graph of the node reads it
  };

  OrtValueInfo(const tessera::Graph& of, tessera::ValueIndex index, const tessera::c_abi::GraphView* its_view);
  /// A client's, which releases it, until a graph takes it.
  OrtValueInfo(std::string its_name, std::unique_ptr<OrtTypeInfo> its_type)
      : view(nullptr), of_client(true), name(std::move(its_name)), type(std::move(its_type)) {}
  OrtValueInfo(const OrtValueInfo&) = delete;
  OrtValueInfo& operator=(const OrtValueInfo&) = delete;

  tessera::c_abi::Mark<OrtValueInfo> mark;
  const tessera::c_abi::GraphView* const view;  // null: of a node on its own
  const bool of_client = false;
  bool is_taken = false;              // by a graph of the client's
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

/// Throws Error(kNotImplemented) for one of a client's: what its graph is like is known once a session has it.
const OrtValueInfo& ReadableValue(const OrtValueInfo* info);

/// The value where it is made: in the graph itself, or where it captures it.
const GraphValue& MadeValue(const Graph& graph, ValueIndex index) noexcept;

}  // namespace tessera::c_abi
