#include "bindings/c/editor/edited_model.h"

#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/mapped_file.h"
#include "bindings/c/editor/restored_model.h"
#include "model/convert.h"
#include "model/external_data.h"
#include "model/model.h"

namespace tessera::c_abi {
namespace {

namespace fs = std::filesystem;

SharedBytes Mapped(const fs::path& file) {
  const MappedFile mapped = MapFile(file);
  if (mapped.bytes.empty()) Fail(ErrorCode::kInvalidProtobuf, "{} is empty", file.string());
  return {mapped.bytes, mapped.owner};
}

fs::path FolderOf(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : "."; }

/// Files of weights where the model's is a link, as caches of downloads have it: the folder alone does not say where they
/// lie. What is not there is an error of the load.
void MapLinked(const fs::path& model, const onnx::GraphProto& graph, WeightsInMemory& weights) {
  std::error_code error;
  if (!fs::is_symlink(model, error)) return;
  ExternalData data({.named = FolderOf(model), .real = fs::canonical(model, error).parent_path()});
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() != "location" || weights.files.contains(entry.value())) continue;
      onnx::TensorProto whole;
      *whole.add_external_data() = entry;
      try {
        SharedBytes file = data.Find(whole);
        weights.files.emplace(entry.value(), file.bytes);
        weights.owners.push_back(std::move(file.owner));
      } catch (const Error&) {
        continue;
      }
    }
  }
}

NamedType Named(const onnx::ValueInfoProto& value) {
  return {value.name(), value.has_type() ? FromProto(value.type()) : TypeInfo()};
}

/// Throws Error for a version that is another one than the model's.
void MergeOpsets(const OrtModel& changes, onnx::ModelProto& proto) {
  const OpsetImports imports = ImportsOf(proto);
  for (const auto& [domain, version] : changes.opsets) {
    const auto known = imports.find(domain);
    if (known == imports.end()) {
      onnx::OperatorSetIdProto& import = *proto.add_opset_import();
      import.set_domain(domain);
      import.set_version(version);
      continue;
    }
    Require(known->second == version, "the model imports version {} of domain '{}', which cannot become {}", known->second,
            domain, version);
  }
}

}  // namespace

EditedModel::EditedModel(fs::path file)
    : file_(std::move(file)), folder_(FolderOf(file_)), model_(Mapped(file_)), proto_(RestoreModel(model_, weights_)) {
  MapLinked(file_, proto_.graph(), weights_);
  Declare();
}

EditedModel::EditedModel(SharedBytes model, fs::path folder)
    : folder_(std::move(folder)), model_(std::move(model)), proto_(RestoreModel(model_, weights_)) {
  Declare();
}

std::optional<int> EditedModel::Opset(std::string_view domain) const {
  const OpsetImports imports = ImportsOf(proto_);
  const auto found = imports.find(domain);
  return found == imports.end() ? std::nullopt : std::optional(found->second);
}

void EditedModel::Apply(const OrtModel& changes) {
  Require(changes.graph != nullptr, "the model has no graph; add one by AddGraphToModel");
  onnx::ModelProto proto = proto_;
  WeightsInMemory weights = weights_;
  MergeOpsets(changes, proto);
  ImportDomains(*changes.graph, proto);
  WriteGraph(*changes.graph, *proto.mutable_graph(), weights);
  CheckValues(proto.graph());
  std::swap(proto_, proto);
  std::swap(weights_, weights);
  is_changed_ = true;
  Declare();
}

/// Weights of models before IR version 4 are inputs in name only.
void EditedModel::Declare() {
  std::unordered_set<std::string_view> weights;
  for (const auto& weight : proto_.graph().initializer()) weights.insert(weight.name());
  for (const auto& weight : proto_.graph().sparse_initializer()) weights.insert(weight.values().name());
  inputs_.clear();
  outputs_.clear();
  overridable_.clear();
  for (const auto& input : proto_.graph().input()) {
    if (!weights.contains(input.name())) {
      inputs_.push_back(Named(input));
    } else if (proto_.ir_version() >= 4) {
      overridable_.push_back(Named(input));
    }
  }
  for (const auto& output : proto_.graph().output()) outputs_.push_back(Named(output));
}

std::string EditedModel::Denotation(std::string_view value) const {
  for (const auto* values : {&proto_.graph().input(), &proto_.graph().output()}) {
    for (const onnx::ValueInfoProto& declared : *values) {
      if (declared.name() == value) return declared.type().denotation();
    }
  }
  return {};
}

ModelMetadata EditedModel::metadata() const {
  const std::string bytes = proto_.SerializeAsString();
  return ReadMetadata(std::as_bytes(std::span(bytes)));
}

tessera::Session EditedModel::Load(const SessionOptions& options, const Environment& environment) const {
  if (!is_changed_) return LoadUnchanged(options, environment);
  SessionOptions with_weights = options;
  with_weights.external_files.insert(weights_.files.begin(), weights_.files.end());
  const auto bytes = std::make_shared<const std::string>(proto_.SerializeAsString());
  return {std::as_bytes(std::span(*bytes)), with_weights, environment, bytes, folder_};
}

tessera::Session EditedModel::LoadUnchanged(const SessionOptions& options, const Environment& environment) const {
  if (!file_.empty()) return {file_, options, environment};
  return {model_.bytes, options, environment, model_.owner, folder_};
}

std::shared_ptr<const void> EditedModel::owner() const {
  return std::make_shared<const std::vector<std::shared_ptr<const void>>>(weights_.owners);
}

}  // namespace tessera::c_abi
