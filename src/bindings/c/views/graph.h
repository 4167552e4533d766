#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/c/handle.h"
#include "bindings/c/views/model_facts.h"
#include "bindings/c/views/node.h"
#include "bindings/c/views/value_info.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/provider/graph.h"

/// A view, or a graph that a client makes (bindings/c/editor/made_model.h).
struct OrtGraph {
  OrtGraph() = default;
  virtual ~OrtGraph() = default;
  OrtGraph(const OrtGraph&) = delete;
  OrtGraph& operator=(const OrtGraph&) = delete;

  tessera::c_abi::Mark<OrtGraph> mark;
  bool is_clients = false;  // who releases it
};

namespace tessera::c_abi {

/// A view of a graph, or of a window of it. All in it is made with it, so that many threads may read it.
struct GraphView final : OrtGraph {
  /// `its_parent`: the node that holds a nested graph. Null: it is found when somebody asks for it.
  GraphView(const GraphViewer& its_viewer, std::shared_ptr<const ModelFacts> its_facts,
            const OrtNode* its_parent = nullptr);
  ~GraphView() override;

  /// Null for the model's own graph.
  const OrtNode* parent() const;

  const GraphViewer viewer;
  const std::shared_ptr<const ModelFacts> facts;
  const std::string name;
  const bool is_window;
  std::vector<const OrtValueInfo*> inputs, outputs, initializers;
  std::vector<const OrtNode*> nodes;

 private:
  struct Enclosing;
  /// Of the graph around `nested`, which stands for itself in it.
  GraphView(const GraphView& nested, const Graph& around);

  /// `known`: the view of one of the nested graphs; null: none is there.
  void AddAll(const GraphView* known);
  void AddNode(const Node& node, const GraphView* known);
  void AddInitializers();
  OrtValueInfo* Find(ValueIndex index);
  std::vector<const OrtValueInfo*> FindAll(std::span<const ValueIndex> indices);

  std::unordered_map<ValueIndex, std::unique_ptr<OrtValueInfo>> values_;
  std::vector<std::unique_ptr<OrtNode>> own_nodes_;
  const OrtNode* const parent_;
  mutable std::once_flag enclosing_made_;
  mutable std::unique_ptr<Enclosing> enclosing_;
};

}  // namespace tessera::c_abi
