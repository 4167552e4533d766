#include "bindings/c/views/model_facts.h"

#include <utility>

namespace tessera::c_abi {

std::shared_ptr<const ModelFacts> FactsOf(const ModelMetadata& metadata, bool has_version, std::filesystem::path path) {
  ModelFacts facts;
  facts.path = std::move(path);
  facts.ir_version = metadata.ir_version;
  facts.metadata.insert(metadata.custom.begin(), metadata.custom.end());
  facts.producer_name = metadata.producer_name;
  facts.domain = metadata.domain;
  facts.description = metadata.description;
  facts.graph_name = metadata.graph_name;
  facts.graph_description = metadata.graph_description;
  if (has_version) facts.version = metadata.version;
  return std::make_shared<const ModelFacts>(std::move(facts));
}

ModelMetadata MetadataOf(const ModelFacts& facts) {
  ModelMetadata metadata;
  metadata.ir_version = facts.ir_version;
  metadata.custom.insert(facts.metadata.begin(), facts.metadata.end());
  metadata.producer_name = facts.producer_name;
  metadata.domain = facts.domain;
  metadata.description = facts.description;
  metadata.graph_name = facts.graph_name;
  metadata.graph_description = facts.graph_description;
  metadata.version = facts.version.value_or(0);
  return metadata;
}

}  // namespace tessera::c_abi
