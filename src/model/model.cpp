#include "model/model.h"

#include "base/check.h"
#include "base/mapped_file.h"
#include "model/convert.h"
#include "model/external_data.h"
#include "model/functions.h"
#include "model/inference.h"
#include "model/raw_data_index.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

constexpr int64_t kOldestIr = 1;
/// Rounds of function inlining: bodies of ONNX's functions nest a few deep.
constexpr int kMostRounds = 16;

void CheckVersions(onnx::ModelProto& model) {
  if (!model.has_graph()) Fail(ErrorCode::kInvalidProtobuf, "the bytes hold no ONNX model: there is no graph");
  if (model.ir_version() < kOldestIr || model.ir_version() > onnx::Version::IR_VERSION) {
    Fail(ErrorCode::kInvalidGraph, "IR version {} is not supported; this build reads {} to {}", model.ir_version(), kOldestIr,
         static_cast<int64_t>(onnx::Version::IR_VERSION));
  }
  if (model.opset_import_size() == 0) {
    if (model.ir_version() >= 3) Fail(ErrorCode::kInvalidGraph, "the model imports no operator set");
    model.add_opset_import()->set_version(1);
  }
  const auto& ranges = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto& import : model.opset_import()) {
    const auto range = ranges.find(import.domain() == "ai.onnx" ? "" : import.domain());
    if (range != ranges.end() && (import.version() < 1 || import.version() > range->second.second)) {
      Fail(ErrorCode::kInvalidGraph, "opset {} of domain '{}' is not supported; this build knows 1 to {}", import.version(),
           import.domain().empty() ? "ai.onnx" : import.domain(), range->second.second);
    }
  }
}

void FixDimensions(onnx::ModelProto& model, const std::map<std::string, int64_t>& sizes) {
  if (sizes.empty()) return;
  for (auto& input : *model.mutable_graph()->mutable_input()) {
    if (!input.type().has_tensor_type()) continue;
    for (auto& dim : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      const auto size = sizes.find(dim.dim_param());
      if (dim.has_dim_param() && size != sizes.end()) dim.set_dim_value(size->second);
    }
  }
}

ModelMetadata MetadataOf(const onnx::ModelProto& model) {
  ModelMetadata metadata;
  metadata.producer_name = model.producer_name();
  metadata.producer_version = model.producer_version();
  metadata.domain = model.domain();
  metadata.description = model.doc_string();
  metadata.graph_name = model.graph().name();
  metadata.graph_description = model.graph().doc_string();
  metadata.version = model.model_version();
  metadata.ir_version = model.ir_version();
  for (const auto& entry : model.metadata_props()) metadata.custom[entry.key()] = entry.value();
  for (const auto& import : model.opset_import()) metadata.opsets[import.domain()] = import.version();
  return metadata;
}

Model Load(const SharedBytes& file, const std::filesystem::path& folder, const LoadOptions& options) {
  if (file.bytes.empty()) Fail(ErrorCode::kInvalidProtobuf, "the model is empty");
  StrippedModel stripped = StripRawData(file.bytes);
  auto proto = ParseMessage<onnx::ModelProto>(std::as_bytes(std::span(stripped.message)), "the model");
  stripped.message = {};
  CheckVersions(proto);
  Model model;
  model.metadata = MetadataOf(proto);
  FixDimensions(proto, options.free_dimensions);
  InlineLocalFunctions(proto);
  CheckNodes(proto);
  InferTypes(proto);
  for (int round = 0; InlineSchemaFunctions(proto, options.keep_function); ++round) {
    if (round == kMostRounds) Fail(ErrorCode::kInvalidGraph, "operators' function bodies nest without end");
    InferTypes(proto);
  }
  ExternalData external(folder);
  model.graph = ConvertModel(proto, [&](const onnx::TensorProto& tensor) -> std::optional<SharedBytes> {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return external.Find(tensor);
    const auto raw = stripped.raw_data.find(tensor.raw_data());
    if (raw == stripped.raw_data.end()) return std::nullopt;
    return SharedBytes{raw->second, file.owner};
  });
  return model;
}

}  // namespace

Model LoadModel(const std::filesystem::path& path, const LoadOptions& options) {
  const MappedFile file = MapFile(path);
  try {
    const auto folder = path.parent_path();
    return Load({file.bytes, file.owner}, folder.empty() ? std::filesystem::path(".") : folder, options);
  } catch (const Error& error) {
    throw error.At(path.string());
  }
}

Model LoadModel(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, const std::filesystem::path& folder,
                const LoadOptions& options) {
  return Load({bytes, std::move(keep_alive)}, folder, options);
}

}  // namespace tessera
