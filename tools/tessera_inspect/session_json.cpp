#include "session_json.h"

#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "tessera/printable.h"

namespace tessera::inspect {
namespace {

using Json = nlohmann::ordered_json;

/// Of a dimension its number or its name, null where it has neither; null where not even the rank is known.
Json ShapeOf(const TypeInfo& type) {
  if (!type.shape) return nullptr;
  Json shape = Json::array();
  for (const Dimension& dim : *type.shape) {
    if (dim.known()) shape.push_back(dim.value);
    else if (dim.symbol.empty()) shape.push_back(nullptr);
    else shape.push_back(dim.symbol);
  }
  return shape;
}

Json ToJson(const std::vector<NamedType>& values) {
  Json json = Json::array();
  for (const NamedType& value : values)
    json.push_back({{"name", value.name}, {"type", value.type.ToString()}, {"shape", ShapeOf(value.type)}});
  return json;
}

Json ToJson(const ModelMetadata& metadata) {
  Json custom = Json::object();
  for (const auto& [key, value] : metadata.custom) custom[key] = value;
  return {{"ir_version", metadata.ir_version},
          {"producer_name", metadata.producer_name},
          {"producer_version", metadata.producer_version},
          {"domain", metadata.domain},
          {"version", metadata.version},
          {"description", metadata.description},
          {"graph_name", metadata.graph_name},
          {"graph_description", metadata.graph_description},
          {"custom", std::move(custom)}};
}

Json OpsetsOf(const ModelMetadata& metadata) {
  Json opsets = Json::object();
  for (const auto& [domain, version] : metadata.opsets) opsets[domain.empty() ? "ai.onnx" : domain] = version;
  return opsets;
}

/// `file_bytes` is without external data, which `weight_bytes` counts.
Json SizesOf(const Session& session, const std::filesystem::path& model) {
  const ModelSizes& sizes = session.sizes();
  std::error_code error;
  const auto bytes = std::filesystem::file_size(model, error);
  Json json = {{"file_bytes", error ? Json(nullptr) : Json(bytes)},
               {"nodes", sizes.nodes},
               {"weights", sizes.weights},
               {"weight_values", sizes.weight_values},
               {"weight_bytes", sizes.weight_bytes}};
  for (const MemoryUse& use : session.memory_use()) json["bytes_in_use"][use.memory] = use.stats.bytes_in_use;
  return json;
}

}  // namespace

std::string ToJson(const Session& session, const std::filesystem::path& model, bool optimization) {
  Json json = {{"model", model.string()},
               {"metadata", ToJson(session.metadata())},
               {"opsets", OpsetsOf(session.metadata())},
               {"inputs", ToJson(session.inputs())},
               {"overridable_initializers", ToJson(session.overridable_initializers())},
               {"outputs", ToJson(session.outputs())},
               {"sizes", SizesOf(session, model)},
               {"warnings", session.warnings()}};
  json.update(Json::parse(session.placement().ToJson()));
  if (optimization) json["optimization"] = Json::parse(session.optimization().ToJson());
  // Names come from models and may hold any bytes.
  return PrintableJson(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace tessera::inspect
