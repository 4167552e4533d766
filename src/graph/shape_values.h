#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace tessera {

/// One element of an integer tensor that computes shapes: known, named like a dimension, or unknown.
struct ShapeElement {
  bool known = false;
  int64_t value = 0;
  std::string symbol;

  static ShapeElement Of(int64_t value) { return {true, value, {}}; }
  bool operator==(const ShapeElement&) const = default;
};

/// All elements of a scalar or 1-D integer (or boolean) tensor, as far as they are known before the run.
using ShapeValue = std::vector<ShapeElement>;

/// Follows the arithmetic that computes shapes (Shape, Gather, Slice, Concat, Mul, Where, ...) through one graph.
class ShapeValues {
 public:
  ShapeValues(const Graph& graph, const ShapeValues* outer) : graph_(graph), outer_(outer) {}

  /// Null when nothing is known. Constants, captured values included.
  const ShapeValue* Find(ValueIndex index);

  /// Computes the node's output, where it is of this kind. Its types must be inferred.
  void Propagate(const Node& node);

 private:
  /// Two dimensions, row after row: exporters turn the pairs of a list of pads around there.
  struct Matrix {
    size_t rows = 0;
    size_t columns = 0;
    ShapeValue elements;
  };

  std::optional<ShapeValue> Compute(const Node& node);
  std::optional<Matrix> ComputeMatrix(const Node& node);
  static std::optional<Matrix> SliceOf(const Matrix& from, int64_t axis, int64_t start, int64_t end, int64_t step);
  /// The only element.
  std::optional<int64_t> KnownInput(const Node& node, size_t i);

  const Graph& graph_;
  const ShapeValues* outer_;
  std::unordered_map<ValueIndex, ShapeValue> values_;
  std::unordered_map<ValueIndex, Matrix> matrices_;  // only what rearranges elements reads them
};

}  // namespace tessera
