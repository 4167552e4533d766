#pragma once

// Made graphs as ONNX has them.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bindings/c/editor/made_model.h"
#include "onnx/onnx_pb.h"

namespace tessera::c_abi {

/// Weights that a written model leaves in memory, by the names that it has for their files.
struct WeightsInMemory {
  std::map<std::string, std::span<const std::byte>, std::less<>> files;
  std::vector<std::shared_ptr<const void>> owners;

  /// A new name for the bytes. No file beside a model can be called so.
  std::string Add(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
};

/// Says that the tensor's data lies in a file, all of it.
void PointTo(const std::string& file, onnx::TensorProto& tensor);

/// Adds nodes and weights to the graph; inputs and outputs take the place of its own where there are any.
void WriteGraph(const MadeGraph& made, onnx::GraphProto& graph, WeightsInMemory& weights);

/// Imports the domains of the made nodes that the model says nothing of. Throws Error for those that programs bring, whose
/// versions they have to say.
void ImportDomains(const MadeGraph& made, onnx::ModelProto& model);

/// Throws Error for a value that two make, and for one that a node reads and nobody makes. Nested graphs are the loader's.
void CheckValues(const onnx::GraphProto& graph);

}  // namespace tessera::c_abi
