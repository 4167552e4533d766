#pragma once

// Graphs, nodes and values as the runtime shows them, read into what C++ is at home with. Texts and handles are borrowed:
// they last as long as the call in which the graph was shown.

#include <string>
#include <vector>

#include "api.h"

namespace teaching {

std::vector<const OrtNode*> NodesOf(const Api& api, const OrtGraph& graph);
/// Null, or without a name: an optional input or output that the node leaves out.
std::vector<const OrtValueInfo*> InputsOf(const Api& api, const OrtNode& node);
std::vector<const OrtValueInfo*> OutputsOf(const Api& api, const OrtNode& node);
/// What graphs nested in the node read from around it.
std::vector<const OrtValueInfo*> ImplicitInputsOf(const Api& api, const OrtNode& node);
std::vector<const OrtOpAttr*> AttributesOf(const Api& api, const OrtNode& node);

/// Empty for null. Within a graph a name stands for one value.
std::string NameOf(const Api& api, const OrtValueInfo* value);
std::string OperatorOf(const Api& api, const OrtNode& node);
std::string DomainOf(const Api& api, const OrtNode& node);

/// A dimension is known, or has a name, or neither.
struct Dimension {
  int64_t size = -1;
  std::string symbol;
};

struct TensorType {
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  // for values that are no tensors
  bool has_shape = false;
  std::vector<Dimension> shape;
};

TensorType TensorTypeOf(const Api& api, const OrtValueInfo& value);

/// Of a tensor that is there: a constant, an input, an output.
struct TensorView {
  ONNXTensorElementDataType element;
  std::vector<int64_t> shape;
  const void* data;
  size_t bytes;
};

TensorView ViewOf(const Api& api, const OrtValue& tensor);

}  // namespace teaching
