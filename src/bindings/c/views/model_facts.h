#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tessera/session.h"

namespace tessera::c_abi {

/// What views tell of the model besides its graph.
struct ModelFacts {
  std::filesystem::path path;  // empty: the model comes from memory
  int64_t ir_version = 0;
  std::map<std::string, std::string, std::less<>> metadata;
  std::string producer_name, domain, description, graph_name, graph_description;
  std::optional<int64_t> version;
};

std::shared_ptr<const ModelFacts> FactsOf(const ModelMetadata& metadata, bool has_version, std::filesystem::path path);

/// The other way, for who asks a graph of a plugin's for its model's metadata.
ModelMetadata MetadataOf(const ModelFacts& facts);

}  // namespace tessera::c_abi
