#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/check.h"
#include "base/load_limits.h"
#include "base/new_file.h"
#include "graph/private_names.h"
#include "graph/schema.h"
#include "model/convert.h"
#include "model/model.h"
#include "model/weight_writer.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

/// A domain's nodes, nested graphs included.
struct DomainUse {
  int newest = 0;  // of their versions
  std::vector<const Node*> nodes;
};
using DomainUses = std::map<std::string, DomainUse, std::less<>>;

/// Throws Error for what no other runtime, nor this one, would load.
void CheckWritable(const Node& node) {
  const auto remedy = "write the model at a lower optimization level";
  if (node.domain == kFusedDomain)
    Fail(ErrorCode::kNotImplemented,
         "{}: a provider has compiled this part of the model; write it in a session without that", node.Label());
  if (node.domain == kChannelsLastDomain)
    Fail(ErrorCode::kNotImplemented, "{}: a provider has it with its channels last, and nothing compiled of it to write",
         node.Label());
  if (IsPrivateDomain(node.domain))
    Fail(ErrorCode::kNotImplemented, "{}: {}.{} is not an operator of ONNX; {}", node.Label(), node.domain, node.op_type,
         remedy);
  for (const Attribute& attribute : node.attributes) {
    if (IsPrivateAttribute(attribute.name))
      Fail(ErrorCode::kNotImplemented, "{}: '{}' is not an attribute of ONNX; {}", node.Label(), attribute.name, remedy);
  }
}

void AddUses(const Graph& graph, const FindOpaquePart& parts, DomainUses& uses) {
  for (const NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = graph.node(index);
    if (const auto part = parts ? parts(node) : std::nullopt) {
      if (part->node->op_type.empty()) {
        AddUses(*part->graph, parts, uses);
      } else {
        int& newest = uses[part->node->domain].newest;
        newest = std::max(newest, 1);
      }
      continue;
    }
    CheckWritable(node);
    DomainUse& use = uses[node.domain];
    use.newest = std::max(use.newest, node.since_version);
    use.nodes.push_back(&node);
    for (const auto& [name, nested] : graph.Subgraphs(index)) AddUses(*nested, parts, uses);
  }
}

/// The first node that would be another version of its operator where the domain is imported so, or null. Domains without
/// schemas have no versions that differ.
const Node* FirstChanged(const DomainUse& use, int opset) {
  for (const Node* node : use.nodes) {
    if (FindSchema(*node) == nullptr) continue;
    const onnx::OpSchema* imported = FindSchema(node->op_type, opset, node->domain);
    if (imported == nullptr || imported->SinceVersion() != node->since_version) return node;
  }
  return nullptr;
}

/// The version to import a domain in so that each node means what it does here. Bodies of functions come from opsets of
/// their own, and the optimizer takes newer operators where the import has them: the model's import may fit no more, and
/// then the oldest that has all operators is the only other candidate worth a try.
int ImportFor(std::string_view domain, const DomainUse& use, int imported) {
  if (imported >= use.newest && FirstChanged(use, imported) == nullptr) return imported;
  const Node* changed = FirstChanged(use, use.newest);
  if (changed == nullptr) return use.newest;
  const auto newest = std::ranges::find(use.nodes, use.newest, &Node::since_version);
  Fail(ErrorCode::kNotImplemented,
       "the model cannot be written with one import of {}: {} is version {} of its operator, and {} needs opset {}, where "
       "that "
       "is another; convert the model, or its functions, to one opset",
       domain.empty() ? "ai.onnx" : domain, changed->Label(), changed->since_version, (*newest)->Label(), use.newest);
}

OpsetImports ImportsFor(const Graph& graph, const FindOpaquePart& parts) {
  DomainUses uses;
  AddUses(graph, parts, uses);
  OpsetImports imports = graph.opsets();
  for (const auto& [domain, use] : uses) {
    int& version = imports[domain];
    version = ImportFor(domain, use, version);
  }
  return imports;
}

onnx::ModelProto ToModelProto(const Graph& graph, const ModelMetadata& metadata, const FindOpaquePart& parts,
                              const StoreWeight& store) {
  constexpr int64_t kOldestIr = 8;  // what this writer uses: optional types, bfloat16, initializers that are no inputs
  onnx::ModelProto model;
  model.set_ir_version(std::max(metadata.ir_version, kOldestIr));
  model.set_producer_name(metadata.producer_name);
  model.set_producer_version(metadata.producer_version);
  model.set_domain(metadata.domain);
  model.set_model_version(metadata.version);
  model.set_doc_string(metadata.description);
  for (const auto& [key, value] : metadata.custom) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  for (const auto& [domain, version] : ImportsFor(graph, parts)) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  graph.limits().Check();
  *model.mutable_graph() = ToProto(graph, nullptr, parts, store);
  model.mutable_graph()->set_doc_string(metadata.graph_description);
  return model;
}

}  // namespace

void WriteModel(const Graph& graph, const ModelMetadata& metadata, const ModelOutput& output, const FindOpaquePart& parts) {
  WeightWriter weights(output);
  const onnx::ModelProto model = ToModelProto(
      graph, metadata, parts, [&](const std::string& name, const Tensor& weight) { return weights.Place(name, weight); });
  if (model.ByteSizeLong() > std::numeric_limits<int32_t>::max()) {
    Fail(ErrorCode::kNotImplemented, "{}: a model of more than 2 GiB cannot be written into one file; give its weights one",
         output.path.string());
  }
  graph.limits().Check();
  const std::string bytes = model.SerializeAsString();
  if (output.write) {
    weights.Publish();
    output.write(std::as_bytes(std::span(bytes)));
    return;
  }
  std::error_code none;
  const auto status = std::filesystem::status(output.path, none);
  Require(!exists(status) || is_regular_file(status), "{} is no regular file: no model is written there",
          output.path.string());
  // The model that was loaded is still mapped, and may be the one that is replaced.
  NewFile file(output.path);
  file.WriteAt(0, bytes.data(), bytes.size());
  GiveUsualMode(file.path());
  weights.Publish();
  file.Publish();
}

}  // namespace tessera
