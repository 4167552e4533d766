#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include "tessera/session.h"

namespace tessera::c_abi {

/// What views tell of the model besides its graph.
struct ModelFacts {
  std::filesystem::path path;  // empty: the model comes from memory
  ModelMetadata metadata;
  bool has_version = false;
};

inline std::shared_ptr<const ModelFacts> FactsOf(const ModelMetadata& metadata, bool has_version,
                                                 std::filesystem::path path) {
  return std::make_shared<const ModelFacts>(ModelFacts{std::move(path), metadata, has_version});
}

}  // namespace tessera::c_abi
