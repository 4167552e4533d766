// Made models as the loader takes them.

#include <utility>

#include "base/check.h"
#include "bindings/c/editor/write_graph.h"
#include "bindings/c/model_editor.h"
#include "onnx/onnx_pb.h"

namespace tessera::c_abi {
namespace {

void ImportAll(const OrtModel& model, onnx::ModelProto& proto) {
  Require(model.opsets.contains(""), "the model imports no version of ONNX's operators: give CreateModel one of domain ''");
  for (const auto& [domain, version] : model.opsets) {
    onnx::OperatorSetIdProto& import = *proto.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
}

}  // namespace

BuiltModel Build(const OrtModel& model) {
  Require(model.graph != nullptr, "the model has no graph; add one by AddGraphToModel");
  onnx::ModelProto proto;
  proto.set_ir_version(onnx::Version::IR_VERSION);
  ImportAll(model, proto);
  ImportDomains(*model.graph, proto);
  WeightsInMemory weights;
  WriteGraph(*model.graph, *proto.mutable_graph(), weights);
  CheckValues(proto.graph());
  auto bytes = std::make_shared<const std::string>(proto.SerializeAsString());
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>(std::move(weights.owners));
  owners->push_back(bytes);
  return {.bytes = std::move(bytes), .files = std::move(weights.files), .owner = std::move(owners)};
}

}  // namespace tessera::c_abi
