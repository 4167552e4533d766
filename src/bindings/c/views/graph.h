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

/// A view of a graph, or of a window of it. All in it is made with it, so that many threads may read it.
struct OrtGraph {
  /// `its_parent`: the node that holds a nested graph. Null: it is found when somebody asks for it.
  OrtGraph(const tessera::GraphViewer& its_viewer, std::shared_ptr<const tessera::c_abi::ModelFacts> its_facts,
           const OrtNode* its_parent = nullptr);
  ~OrtGraph();
  OrtGraph(const OrtGraph&) = delete;
  OrtGraph& operator=(const OrtGraph&) = delete;

  /// Null for the model's own graph.
  const OrtNode* parent() const;

  tessera::c_abi::Mark<OrtGraph> mark;
  const tessera::GraphViewer viewer;
  const std::shared_ptr<const tessera::c_abi::ModelFacts> facts;
  const std::string name;
  const bool is_window;
  bool is_clients = false;  // who releases it
  std::vector<const OrtValueInfo*> inputs, outputs, initializers;
  std::vector<const OrtNode*> nodes;

 private:
  struct Enclosing;
  /// Of the graph around `nested`, which stands for itself in it.
  OrtGraph(const OrtGraph& nested, const tessera::Graph& around);

  /// `known`: the view of one of the nested graphs; null: none is there.
  void AddAll(const OrtGraph* known);
  void AddNode(const tessera::Node& node, const OrtGraph* known);
  void AddInitializers();
  OrtValueInfo* Find(tessera::ValueIndex index);
  std::vector<const OrtValueInfo*> FindAll(std::span<const tessera::ValueIndex> indices);

  std::unordered_map<tessera::ValueIndex, std::unique_ptr<OrtValueInfo>> values_;
  std::vector<std::unique_ptr<OrtNode>> own_nodes_;
  const OrtNode* const parent_;
  mutable std::once_flag enclosing_made_;
  mutable std::unique_ptr<Enclosing> enclosing_;
};
