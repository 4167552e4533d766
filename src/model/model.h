#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/load_limits.h"
#include "graph/graph.h"
#include "model/functions.h"
#include "model/opaque_part.h"
#include "tessera/session.h"

namespace tessera {

class ExternalData;

struct LoadOptions {
  /// Sizes for symbolic dimensions, by name.
  std::map<std::string, int64_t> free_dimensions;
  /// Names among them that the model does not have are left alone instead of being an error.
  bool ignore_unknown_dimensions = false;
  /// Sizes for inputs' dimensions, by what the model says that they stand for.
  std::map<std::string, int64_t> free_dimensions_by_denotation;
  /// Weights by name in place of the model's.
  std::map<std::string, Tensor, std::less<>> initializers;
  /// Names among them that the model does not have are left alone instead of being an error.
  bool ignore_unknown_initializers = false;
  /// External data that lies in memory, by the name of its file.
  std::map<std::string, std::span<const std::byte>, std::less<>> external_files;
  /// Operators of the session's providers; outlives the model. Null: there are none.
  const OperatorDefinitions* definitions = nullptr;
  /// As for ResolveGraph; asked again later, ResolveGraph inlines more.
  KeepFunction keep_function;
  /// Files are read into memory, which counts for the limits, instead of being mapped.
  bool copy_files = false;
  /// Attributes that their operators do not have are an error instead of a warning.
  bool strict_attributes = false;
  /// What the load may take; the graph keeps them. Null: nothing is limited.
  std::shared_ptr<LoadLimits> limits;
  /// Hears of each of the model's files, or its bytes, with their size.
  std::function<void(size_t bytes)> on_data;
};

/// A loaded and resolved model: names are indices, functions are inlined, types and shapes are inferred as far as the model
/// tells them. Large constants point into the file's mapping, aligned or not (Tensor::ShareUnaligned).
struct Model {
  std::unique_ptr<Graph> graph;
  ModelMetadata metadata;
  bool has_version = false;                      // metadata.version is the model's own
  std::shared_ptr<const ExternalData> external;  // null for a model from a context
  std::vector<std::string> warnings;             // what looks wrong and was let through
  /// What the types of the graph's inputs and outputs stand for, by name, where the model says it.
  std::map<std::string, std::string, std::less<>> denotations;
};

/// Throws Error: kNoSuchFile, kInvalidProtobuf, kInvalidGraph naming node, value and reason.
Model LoadModel(const std::filesystem::path& path, const LoadOptions& options = {});

/// From memory. With `keep_alive`, large constants point into `bytes`; without, they are copied. External data is looked
/// for in `folder` only; with an empty folder it is an error.
Model LoadModel(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive,
                const std::filesystem::path& folder, const LoadOptions& options = {});

/// What a model says of itself, without loading it. Throws Error(kInvalidProtobuf) for bytes that are no model.
ModelMetadata ReadMetadata(std::span<const std::byte> bytes);

/// Writes the graph as an ONNX model, with the weights where `output` says. Another process sees files whole or not at all.
/// `parts` tells what stands in place of opaque nodes. Throws Error(kNotImplemented) where that is more than a protobuf
/// message holds, where a node is none of ONNX's, or where no import of a domain gives each of its nodes the version that
/// it has.
void WriteModel(const Graph& graph, const ModelMetadata& metadata, const ModelOutput& output,
                const FindOpaquePart& parts = nullptr);

}  // namespace tessera
