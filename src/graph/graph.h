#pragma once

// The mutable graph between load and plan. Optimizer and partitioner edit it through these calls, which keep producers and
// consumers consistent; nothing else does.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"
#include "tessera/provider/graph.h"

namespace tessera {

struct FunctionLibrary;
class LoadLimits;
class OperatorDefinitions;
class Provenance;

/// Which of the model's own nodes a node stands for in reports.
struct NodeOrigin {
  /// In the order of the model's file, nested graphs included; kNone: no node of a model.
  int32_t index = kNone;
  /// The node was put beside the one that does that node's work: a change of layout or type.
  bool inserted = false;
};

class Graph {
 public:
  /// Graphs in graphs: passes, plans and runs go down by recursion.
  static constexpr int kDeepest = 100;

  /// Throws Error where graphs would be nested deeper than kDeepest.
  explicit Graph(Graph* parent = nullptr);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const noexcept { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  Graph* parent() const noexcept { return parent_; }
  const Graph& root() const noexcept { return parent_ == nullptr ? *this : parent_->root(); }

  // --- values -----------------------------------------------------------------------------------------------------------
  size_t num_values() const noexcept { return values_.size(); }
  const GraphValue& value(ValueIndex index) const noexcept { return values_[static_cast<size_t>(index)]; }
  GraphValue& value(ValueIndex index) noexcept { return values_[static_cast<size_t>(index)]; }
  /// A new value; names are unique in a graph. An empty name gets a fresh one.
  ValueIndex AddValue(std::string name, TypeInfo type = {});
  ValueIndex AddConstant(std::string name, Tensor tensor);
  /// Makes a value that has no producer a constant.
  void SetConstant(ValueIndex index, Tensor tensor);
  /// kNone when this graph does not hold `name` (enclosing graphs are not searched).
  ValueIndex FindValue(std::string_view name) const noexcept;
  /// The local stand-in for a value of the enclosing graph; made on first use, and recursively through all levels between.
  ValueIndex Capture(ValueIndex outer);
  /// The constant behind a value, through captures; null when it is computed.
  const Tensor* constant(ValueIndex index) const noexcept;
  /// Gives a constant's memory back once nothing reads it.
  void DropConstant(ValueIndex index) { value(index).constant.reset(); }

  // --- nodes ------------------------------------------------------------------------------------------------------------
  /// Slots; removed nodes leave null holes so that indices stay valid.
  size_t num_node_slots() const noexcept { return nodes_.size(); }
  bool has_node(NodeIndex index) const noexcept {
    return index >= 0 && static_cast<size_t>(index) < nodes_.size() && nodes_[static_cast<size_t>(index)] != nullptr;
  }
  const Node& node(NodeIndex index) const noexcept { return *nodes_[static_cast<size_t>(index)]; }
  Node& node(NodeIndex index) noexcept { return *nodes_[static_cast<size_t>(index)]; }
  /// Takes the node's inputs, outputs and implicit inputs over and links them. Where the order is free the node runs at the
  /// place of `place`, which may be removed already; kNone: after all others. Its origin is that of
  /// the node of this graph that it is a copy of (Node::index says so), else that of `place`.
  NodeIndex AddNode(Node node, NodeIndex place = kNone);
  void RemoveNode(NodeIndex index);
  void SetInput(NodeIndex node, size_t input, ValueIndex value);
  void SetOutput(NodeIndex node, size_t output, ValueIndex value);
  /// Finds anew which values the node's nested graphs capture, after an edit of these.
  void RefreshImplicitInputs(NodeIndex node);
  /// Hands a nested graph from its place in one graph to one in `parent`, where what it captures has the indices that
  /// `moved` gives.
  void MoveTo(Graph& parent, const std::function<ValueIndex(ValueIndex)>& moved);
  /// The node reads the value by one of its inputs, once, and no nested graph of it does.
  bool ReadsOnce(NodeIndex node, ValueIndex value) const;
  /// Which of its producer's outputs a value is.
  size_t OutputPosition(ValueIndex value) const;
  /// Every consumer of `from` (and the graph's outputs, when `outputs`) reads `to` instead.
  void ReplaceUses(ValueIndex from, ValueIndex to);

  // --- border -----------------------------------------------------------------------------------------------------------
  /// Declared inputs; overridable initializers are among them, with default_value set.
  std::span<const ValueIndex> inputs() const noexcept { return inputs_; }
  std::span<const ValueIndex> outputs() const noexcept { return outputs_; }
  void AddInput(ValueIndex value);
  void AddOutput(ValueIndex value);
  void SetGraphOutput(size_t i, ValueIndex value);

  // --- the model it belongs to ------------------------------------------------------------------------------------------
  /// Imports by domain ("" for ai.onnx); nested graphs ask their parent.
  int opset_version(std::string_view domain) const noexcept;
  void set_opsets(std::map<std::string, int, std::less<>> opsets) { opsets_ = std::move(opsets); }
  const std::map<std::string, int, std::less<>>& opsets() const noexcept;

  /// The model's own functions, which calls in it may name; null without any.
  const std::shared_ptr<const FunctionLibrary>& functions() const noexcept { return root().functions_; }
  void set_functions(std::shared_ptr<const FunctionLibrary> functions) { functions_ = std::move(functions); }

  /// Of a node, or of one that was removed.
  NodeOrigin origin(NodeIndex index) const noexcept { return origins_[static_cast<size_t>(index)]; }
  void SetOrigin(NodeIndex index, NodeOrigin origin) { origins_[static_cast<size_t>(index)] = origin; }
  /// What becomes of the model's own nodes; null where nobody follows them.
  const std::shared_ptr<Provenance>& provenance() const noexcept { return root().provenance_; }
  void set_provenance(std::shared_ptr<Provenance> provenance) { provenance_ = std::move(provenance); }
  /// A node that was taken out, with what it read and wrote then.
  struct RemovedNode {
    NodeOrigin origin;
    std::vector<ValueIndex> inputs, outputs;
  };
  /// Where the model's nodes are followed: the nodes taken out of this graph since the last call, and the first of the
  /// slots that were added since.
  struct Edits {
    std::vector<RemovedNode> removed;
    NodeIndex first_added = 0;
  };
  Edits TakeEdits();

  /// What the load of this graph may take; nodes and values count against it. Never null.
  const LoadLimits& limits() const noexcept;
  void set_limits(std::shared_ptr<LoadLimits> limits);
  /// Operators that providers of the session define; null: there are none. Outlives the graph.
  const OperatorDefinitions* definitions() const noexcept { return root().definitions_; }
  void set_definitions(const OperatorDefinitions* definitions) noexcept { definitions_ = definitions; }
  /// Counts what the graph keeps beside nodes and values as they were added. Throws Error where the limit is reached.
  void Charge(size_t bytes) const;

  /// Node indices in execution order, ties by place. Cached until the graph changes. Throws Error(kInvalidGraph) naming the
  /// nodes of a cycle.
  const std::vector<NodeIndex>& TopologicalOrder() const;
  /// Where each slot's node stands in that order.
  const std::vector<int32_t>& OrderPositions() const;

  /// False: none of its nodes holds a graph, nor did one that was removed.
  bool MayHoldGraphs() const noexcept { return may_hold_graphs_; }
  /// Nested graphs of a node, with their attribute names.
  std::vector<std::pair<std::string_view, Graph*>> Subgraphs(NodeIndex node) const;

 private:
  /// Sets the order to that of places, ties by index: it is the execution order where each node stands behind what it
  /// reads, as in most graphs.
  void SortByPlace() const;
  bool OrderHolds() const;
  void SortByReadiness() const;
  /// `waiting`: of each slot, reads of values that are never made.
  [[noreturn]] void FailOfCycle(std::span<const uint32_t> waiting) const;
  /// What stood for `from` of the enclosing graph stands for `to`.
  void RenameCapture(ValueIndex from, ValueIndex to);
  NodeOrigin OriginOf(const Node& added, NodeIndex place) const noexcept;
  void Link(NodeIndex node);
  void Unlink(NodeIndex node);
  /// The node reads `to` wherever it read `from`.
  void ReplaceInput(NodeIndex node, ValueIndex from, ValueIndex to);
  void ReplaceImplicitInput(NodeIndex node, ValueIndex from, ValueIndex to);

  /// How often each of a value's consumers reads it, and where each one stands among them: a value may have a hundred
  /// thousand, and passes take them away one by one.
  struct Uses {
    std::vector<uint32_t> counts;                               // by consumer
    std::unique_ptr<std::unordered_map<NodeIndex, size_t>> at;  // null for few
  };
  size_t FindUse(ValueIndex read, NodeIndex reader) const;
  void AddUse(ValueIndex read, NodeIndex reader);
  void RemoveUse(ValueIndex read, NodeIndex reader);

  /// Where a node reads each value, kept for nodes with so many inputs that to look through them for each edit would make
  /// passes quadratic. Made when first asked for.
  using ReadPositions = std::unordered_map<ValueIndex, std::vector<size_t>>;
  struct WideNode {
    ReadPositions inputs;
    ReadPositions implicit_inputs;
    std::unordered_map<ValueIndex, size_t> outputs;
  };
  WideNode* FindWide(NodeIndex node) const;

  /// Also of the graphs in it.
  void SetParent(Graph& parent);

  std::string name_;
  Graph* parent_;
  int depth_;
  std::vector<GraphValue> values_;
  std::vector<Uses> uses_;  // by value
  StringMap<ValueIndex> value_names_;
  std::unordered_map<ValueIndex, ValueIndex> captures_;  // index in the enclosing graph -> index here
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<NodeIndex> places_;    // of each slot
  std::vector<NodeOrigin> origins_;  // of each slot
  std::vector<ValueIndex> inputs_;
  std::vector<ValueIndex> outputs_;
  std::unordered_map<ValueIndex, std::vector<size_t>> output_positions_;  // of each value among the outputs
  mutable std::unordered_map<NodeIndex, WideNode> wide_nodes_;
  std::map<std::string, int, std::less<>> opsets_;
  std::shared_ptr<const FunctionLibrary> functions_;
  std::shared_ptr<LoadLimits> limits_;                // of a graph without parent
  const OperatorDefinitions* definitions_ = nullptr;  // of a graph without parent
  std::shared_ptr<Provenance> provenance_;            // of a graph without parent
  Edits edits_;
  mutable MemoryCharge charge_;
  mutable std::vector<NodeIndex> order_;
  mutable std::vector<int32_t> order_positions_;  // by slot
  mutable std::vector<int32_t> starts_;           // by place, of SortByPlace()
  mutable bool order_valid_ = false;
  bool may_hold_graphs_ = false;
  int next_name_ = 0;
};

}  // namespace tessera
