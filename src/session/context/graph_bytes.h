#pragma once

// A resolved graph as bytes. ONNX's own format cannot say what it has to: versions are those of the model's imports there,
// but inlined functions and rewriting leave nodes of several versions side by side; nested graphs take values by name,
// which one of their own may hide; a message ends at 2 GiB; private operators are refused in models. And what is read from
// it would be resolved again.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "graph/graph.h"

namespace tessera {

/// Tensors that a serialized graph names by number; their bytes lie elsewhere.
class TensorTable {
 public:
  uint32_t Add(const Tensor& tensor);
  std::span<const Tensor> tensors() const noexcept { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

/// Everything that a resolved graph says, nested graphs and what became of the model's nodes included, so that it needs no
/// inference when it is read. Values
/// that nothing uses are left out. Throws Error(kNotImplemented) where a node calls one of the model's own functions.
void WriteGraph(const Graph& graph, ByteWriter& out, TensorTable& tensors);

/// Fills an empty graph. Every index, enumerator and count is checked; throws Error otherwise.
void ReadGraph(ByteReader& in, std::span<const Tensor> tensors, Graph& graph);

}  // namespace tessera
