#include "graph.h"

namespace teaching {
namespace {

/// Lists are read alike everywhere: one function says how long the list is, one fills an array of that length.
template <class Item, class Count, class Get, class Object>
std::vector<const Item*> List(const Api& api, Count count, Get get, const Object& object) {
  size_t size = 0;
  api.Check(count(&object, &size));
  std::vector<const Item*> items(size);
  if (size > 0) api.Check(get(&object, items.data(), size));
  return items;
}

}  // namespace

std::vector<const OrtNode*> NodesOf(const Api& api, const OrtGraph& graph) {
  return List<OrtNode>(api, api->Graph_GetNumNodes, api->Graph_GetNodes, graph);
}

std::vector<const OrtValueInfo*> InputsOf(const Api& api, const OrtNode& node) {
  return List<OrtValueInfo>(api, api->Node_GetNumInputs, api->Node_GetInputs, node);
}

std::vector<const OrtValueInfo*> OutputsOf(const Api& api, const OrtNode& node) {
  return List<OrtValueInfo>(api, api->Node_GetNumOutputs, api->Node_GetOutputs, node);
}

std::vector<const OrtValueInfo*> ImplicitInputsOf(const Api& api, const OrtNode& node) {
  return List<OrtValueInfo>(api, api->Node_GetNumImplicitInputs, api->Node_GetImplicitInputs, node);
}

std::vector<const OrtOpAttr*> AttributesOf(const Api& api, const OrtNode& node) {
  return List<OrtOpAttr>(api, api->Node_GetNumAttributes, api->Node_GetAttributes, node);
}

std::string NameOf(const Api& api, const OrtValueInfo* value) {
  if (value == nullptr) return "";
  const char* name = nullptr;
  api.Check(api->GetValueInfoName(value, &name));
  return name == nullptr ? "" : name;
}

std::string OperatorOf(const Api& api, const OrtNode& node) {
  const char* type = nullptr;
  api.Check(api->Node_GetOperatorType(&node, &type));
  return type;
}

std::string DomainOf(const Api& api, const OrtNode& node) {
  const char* domain = nullptr;
  api.Check(api->Node_GetDomain(&node, &domain));
  return domain == nullptr ? "" : domain;
}

TensorType TensorTypeOf(const Api& api, const OrtValueInfo& value) {
  TensorType type;
  const OrtTypeInfo* any = nullptr;
  api.Check(api->GetValueInfoTypeInfo(&value, &any));
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  if (any != nullptr) api.Check(api->GetOnnxTypeFromTypeInfo(any, &kind));
  if (kind != ONNX_TYPE_TENSOR) return type;  // a sequence, a map, an optional, or not known

  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  api.Check(api->CastTypeInfoToTensorInfo(any, &tensor));
  api.Check(api->GetTensorElementType(tensor, &type.element));
  type.has_shape = api->TensorTypeAndShape_HasShape(tensor);
  if (!type.has_shape) return type;

  size_t rank = 0;
  api.Check(api->GetDimensionsCount(tensor, &rank));
  std::vector<int64_t> sizes(rank);
  std::vector<const char*> symbols(rank);
  if (rank > 0) {
    api.Check(api->GetDimensions(tensor, sizes.data(), rank));
    api.Check(api->GetSymbolicDimensions(tensor, symbols.data(), rank));
  }
  for (size_t i = 0; i < rank; ++i) type.shape.push_back({sizes[i], symbols[i] == nullptr ? "" : symbols[i]});
  return type;
}

TensorView ViewOf(const Api& api, const OrtValue& tensor) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  api.Check(api->GetTensorTypeAndShape(&tensor, &info));
  const Owned<OrtTensorTypeAndShapeInfo> keeps_info(info, api->ReleaseTensorTypeAndShapeInfo);

  TensorView view = {};
  api.Check(api->GetTensorElementType(info, &view.element));
  size_t rank = 0;
  api.Check(api->GetDimensionsCount(info, &rank));
  view.shape.resize(rank);
  if (rank > 0) api.Check(api->GetDimensions(info, view.shape.data(), rank));
  api.Check(api->GetTensorData(&tensor, &view.data));
  api.Check(api->GetTensorSizeInBytes(&tensor, &view.bytes));
  return view;
}

}  // namespace teaching
