#pragma once

// The graph as providers and kernels see it. src/graph/graph.h holds the mutable graph behind these read-only types.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/export.h"
#include "tessera/provider/precision.h"
#include "tessera/type_info.h"
#include "tessera/value.h"

namespace tessera {

class Graph;

using NodeIndex = int32_t;
using ValueIndex = int32_t;
/// Stands for an omitted optional input or output, and for "no producer".
inline constexpr int32_t kNone = -1;

/// What an attribute may hold. Graphs are owned by the node that holds them.
using AttributeVariant = std::variant<std::monostate, int64_t, float, std::string, Tensor, SparseTensor, TypeInfo,
                                      std::shared_ptr<Graph>, std::vector<int64_t>, std::vector<float>,
                                      std::vector<std::string>, std::vector<Tensor>, std::vector<TypeInfo>>;

/// An attribute's value. Copies are made in one place: in every file that has a node they would take a quarter of its
/// build.
class TESSERA_API AttributeValue : public AttributeVariant {
 public:
  using AttributeVariant::AttributeVariant;
  AttributeValue() noexcept;
  AttributeValue(const AttributeValue& other);
  AttributeValue(AttributeValue&& other) noexcept;
  AttributeValue& operator=(const AttributeValue& other);
  AttributeValue& operator=(AttributeValue&& other) noexcept;
  ~AttributeValue();
};

/// Of a node, by its name in the operator's definition.
struct Attribute {
  std::string name;
  AttributeValue value;
};

/// How a node may be computed, never what: a provider that ignores them computes the same.
struct NodeHints {
  /// Less than the model's types, where the optimizer, as the session allows it, lets this node be computed so.
  Precision precision = Precision::kFloat32;
  /// The implementation that timing has chosen; empty: the kernel chooses.
  std::string algorithm;
};

/// One operator application. Inputs and outputs index the values of the graph that holds it; kNone marks omitted ones.
struct Node {
  NodeIndex index = kNone;
  std::string name;
  std::string domain;  // "" for ai.onnx
  std::string op_type;
  std::string overload;
  int since_version = 0;  // version of the operator's schema in force; the imported version for domains without schemas
  std::vector<ValueIndex> inputs;
  std::vector<ValueIndex> outputs;
  /// Values of this graph (or captured by it) that nested graphs read by name; in the order of their use.
  std::vector<ValueIndex> implicit_inputs;
  std::vector<Attribute> attributes;
  NodeHints hints;
  /// Name of the provider that runs it ("CPUExecutionProvider"); empty before partitioning.
  std::string provider;

  TESSERA_API const AttributeValue* FindAttribute(std::string_view attribute) const noexcept;

  /// "Conv 'conv1'" or, without a name, "Conv -> 'output0'": how errors and reports call it.
  TESSERA_API std::string Label(const class GraphViewer* graph = nullptr) const;
};

/// One edge of a graph.
struct GraphValue {
  std::string name;
  TypeInfo type;
  NodeIndex producer = kNone;
  std::vector<NodeIndex> consumers;
  bool is_input = false;
  bool is_output = false;
  /// Captured from an enclosing graph: the index there.
  ValueIndex outer = kNone;
  /// Set for initializers that no caller can override and for folded constants. Host memory, possibly a mapped file.
  std::optional<Tensor> constant;
  /// Default of an overridable initializer (also a graph input).
  std::optional<Tensor> default_value;
};

/// A read-only window on a graph, or on some of its nodes. Cheap to copy; valid while the graph lives unchanged.
class TESSERA_API GraphViewer {
 public:
  explicit GraphViewer(const Graph& graph);
  /// Only `nodes`, in the graph's topological order; inputs() and outputs() are the values that cross the border.
  GraphViewer(const Graph& graph, std::span<const NodeIndex> nodes);

  std::string_view name() const noexcept;
  /// In topological order.
  std::span<const NodeIndex> nodes() const noexcept { return nodes_; }
  const Node& node(NodeIndex index) const noexcept;
  const GraphValue& value(ValueIndex index) const noexcept;
  size_t num_values() const noexcept;
  bool contains(NodeIndex index) const noexcept;

  /// For a whole graph its declared inputs and outputs; for a window what crosses its border (constants excluded).
  std::span<const ValueIndex> inputs() const noexcept { return inputs_; }
  std::span<const ValueIndex> outputs() const noexcept { return outputs_; }

  /// The constant behind an index, or null; looks through captures into enclosing graphs.
  const Tensor* constant(ValueIndex index) const noexcept;

  /// The enclosing graph of a nested one, or null.
  const Graph* parent() const noexcept;
  /// The version of `domain` that the model imports; 0 when it does not.
  int opset_version(std::string_view domain) const noexcept;
  const Graph& graph() const noexcept { return *graph_; }

 private:
  const Graph* graph_;
  std::vector<NodeIndex> nodes_;
  std::vector<ValueIndex> inputs_;
  std::vector<ValueIndex> outputs_;
};

}  // namespace tessera
