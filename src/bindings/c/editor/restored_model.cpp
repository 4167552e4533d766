#include "bindings/c/editor/restored_model.h"

#include "base/check.h"
#include "base/load_limits.h"
#include "model/large_data.h"
#include "model/ort_model.h"

namespace tessera::c_abi {
namespace {

/// Gives tensors that lost their data to the loader's way of reading the place where it lies, and attributes their lists.
class Restoration {
 public:
  Restoration(const StringMap<std::span<const std::byte>>& data, WeightsInMemory& weights)
      : data_(data), weights_(weights) {}

  void Restore(onnx::ModelProto& model) {
    Restore(*model.mutable_graph());
    for (onnx::FunctionProto& function : *model.mutable_functions()) Restore(*function.mutable_node());
  }

 private:
  void Restore(onnx::GraphProto& graph) {
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) Restore(tensor);
    for (onnx::SparseTensorProto& tensor : *graph.mutable_sparse_initializer()) Restore(tensor);
    Restore(*graph.mutable_node());
  }

  void Restore(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    for (onnx::NodeProto& node : nodes) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) Restore(attribute);
    }
  }

  void Restore(onnx::AttributeProto& attribute) {
    if (attribute.has_t() && attribute.type() != onnx::AttributeProto::TENSOR) {
      const auto list = data_.find(attribute.t().raw_data());
      if (list == data_.end()) return;
      attribute = ParseMessage<onnx::AttributeProto>(list->second, "an attribute");
      return;
    }
    if (attribute.has_t()) Restore(*attribute.mutable_t());
    if (attribute.has_sparse_tensor()) Restore(*attribute.mutable_sparse_tensor());
    if (attribute.has_g()) Restore(*attribute.mutable_g());
    for (onnx::TensorProto& tensor : *attribute.mutable_tensors()) Restore(tensor);
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) Restore(graph);
  }

  void Restore(onnx::SparseTensorProto& tensor) {
    if (tensor.has_values()) Restore(*tensor.mutable_values());
    if (tensor.has_indices()) Restore(*tensor.mutable_indices());
  }

  void Restore(onnx::TensorProto& tensor) {
    const auto place = data_.find(tensor.raw_data());
    if (place != data_.end()) PointTo(weights_.Add(place->second, nullptr), tensor);
  }

  const StringMap<std::span<const std::byte>>& data_;
  WeightsInMemory& weights_;
};

}  // namespace

onnx::ModelProto RestoreModel(const SharedBytes& model, WeightsInMemory& weights) {
  StrippedModel stripped;
  onnx::ModelProto proto;
  if (IsOrtModel(model.bytes)) {
    proto = ReadOrtModel(model.bytes, LoadLimits::None(), stripped.data);
  } else {
    stripped = StripLargeData(model.bytes, LoadLimits::None());
    proto = ParseMessage<onnx::ModelProto>(std::as_bytes(std::span(stripped.message)), "the model");
  }
  if (!proto.has_graph()) Fail(ErrorCode::kInvalidProtobuf, "the bytes hold no ONNX model: there is no graph");
  Restoration(stripped.data, weights).Restore(proto);
  weights.owners.push_back(model.owner);
  return proto;
}

}  // namespace tessera::c_abi
