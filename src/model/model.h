#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "tessera/session.h"

namespace tessera {

struct LoadOptions {
  /// Sizes for symbolic dimensions of the inputs, by name.
  std::map<std::string, int64_t> free_dimensions;
  /// Says whether some provider runs an operator that ONNX also defines as a function (asked with its since_version and its
  /// inputs' element types, kUndefined where unknown); the others are replaced by their bodies. Empty: keep all.
  std::function<bool(std::string_view domain, std::string_view op_type, int since_version,
                     std::span<const ElementType> input_types)>
      keep_function;
};

/// A loaded and resolved model: names are indices, functions are inlined, types and shapes are inferred as far as the model
/// tells them. Large constants point into the file's mapping.
struct Model {
  std::unique_ptr<Graph> graph;
  ModelMetadata metadata;
};

/// Throws Error: kNoSuchFile, kInvalidProtobuf, kInvalidGraph naming node, value and reason.
Model LoadModel(const std::filesystem::path& path, const LoadOptions& options = {});

/// From memory. With `keep_alive`, large constants point into `bytes`; without, they are copied. External data is looked for
/// in `folder` only; with an empty folder it is an error.
Model LoadModel(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, const std::filesystem::path& folder,
                const LoadOptions& options = {});

}  // namespace tessera
